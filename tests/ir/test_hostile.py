"""Texts and expressions that nobody means to write: a sentence, never a bare traceback or a long wait."""

from __future__ import annotations

import random
import re

import pytest

from workbench import te, workloads
from workbench.errors import WorkbenchError
from workbench.ir.expr import measure
from workbench.ir.text.parser import parse
from workbench.ir.text.printer import to_text
from workbench.ir.verify import verify
from workbench.schedule import Hole, Schedule

SMALL = """\
f(X: input float32[4], Y: output float32[4]):
  for i in 4:
    block Y(i: 4):
      Y[i] = X[i] + 1.0
"""
HOLED = """\
f(X: input float32[64], Y: output float32[64]):
  hole ?a
  hole ?b in {2, 4}
  relation ?a*?b = 64
  require "few": 32 - ?a >= 0
  for i.0 in ?a:
    for i.1 in ?b:
      block Y(i: 64 = i.0 * ?b + i.1):
        Y[i] = X[i]
"""


def changed(text: str, old: str, new: str) -> str:
    assert old in text, old
    return text.replace(old, new)


def loops(depth: int) -> str:
    lines = [f"{'  ' * (k + 1)}for i{k} in 1:" for k in range(depth)]
    pad = "  " * (depth + 1)
    block = [f"{pad}block Y(i: 4 = 0):", f"{pad}  Y[0] = X[0]"]
    return "\n".join(["f(X: input float32[4], Y: output float32[4]):", *lines, *block, ""])


TEXTS = {
    "nothing": "",
    "an open bracket": "f(",
    "no characters": "\x00\x01",
    "an element type that is none": changed(SMALL, "X: input float32", "X: input object"),
    "complex elements": changed(SMALL, "X: input float32", "X: input complex64"),
    "elements of 16 bytes": changed(SMALL, "X: input float32", "X: input float128"),
    "a loop of 5000 digits": changed(SMALL, "for i in 4", f"for i in {'9' * 5000}"),
    "a loop of 19 digits": changed(SMALL, "for i in 4", f"for i in {'9' * 19}"),
    "a loop without end": changed(SMALL, "for i in 4", f"for i in {1 << 40}"),
    "a loop that runs no times": changed(SMALL, "for i in 4", "for i in 0"),
    "a loop that runs less than no times": changed(SMALL, "for i in 4", "for i in -4"),
    "a dimension without end": changed(SMALL, "X: input float32[4]", f"X: input float32[{10**17}]"),
    "a dimension of nothing": changed(SMALL, "X: input float32[4]", "X: input float32[0]"),
    "an axis of nothing": changed(SMALL, "block Y(i: 4)", "block Y(i: 0)"),
    "a constant of 5000 digits": changed(SMALL, "1.0", "1" * 5000),
    "a constant beyond its type": changed(SMALL, "1.0", "300u8"),
    "a fraction of a whole number": changed(SMALL, "1.0", "1.5i32"),
    "a division by nothing": changed(SMALL, "X[i]", "X[(i // 0)]"),
    "a rest of nothing": changed(SMALL, "X[i]", "X[(i % 0)]"),
    "parentheses without end": changed(SMALL, "1.0", "(" * 3000 + "1.0" + ")" * 3000),
    "signs without end": changed(SMALL, "1.0", "- (" * 2000 + "1.0" + ")" * 2000),
    "a sum without end": changed(SMALL, "1.0", " + ".join(["1.0"] * 3000)),
    "an index in parentheses without end": changed(SMALL, "X[i]", f"X[{'(' * 3000}i{')' * 3000}]"),
    "loops without end": loops(400),
    "two loops of one name": changed(HOLED, "i.1", "i.0"),
    "two buffers of one name": changed(SMALL, "X", "Y"),
    "a hole to the power of many": changed(HOLED, "32 - ?a", "32 - ?a**999999999"),
    "a hole to the power of nothing": changed(HOLED, "32 - ?a", "32 - ?a**0"),
    "a hole that may be nothing": changed(HOLED, "{2, 4}", "{0}"),
    "a hole without a choice": changed(HOLED, "{2, 4}", "{}"),
    "a choice of 19 digits": changed(HOLED, "{2, 4}", "{9999999999999999999}"),
    "a product without end": changed(HOLED, "?b = 64", f"?b = {10**17}"),
    "a reduction that is none": changed(SMALL, "Y[i] = X[i] + 1.0", "init Y[i] = 0.0\n      Y[i] = X[i]"),
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_texts_that_make_no_sense(text):
    with pytest.raises(WorkbenchError) as caught:
        parse(text)  # before the test's time is up
    assert caught.value.code.startswith(("parse.", "verify."))


@pytest.mark.parametrize("text", [None, 3, b"f():", ["f():"]], ids=str)
def test_what_is_no_text(text):
    with pytest.raises(WorkbenchError) as caught:
        parse(text)
    assert caught.value.code == "usage.type"


#: Words that go into a text in the place of others.
WORDS = ["0", "-1", "3", "64", "1e400", "1.5", "inf", "nan", "99999999999999999", "reduce", "init", "when", "?a", "`"]


def garbled(text: str, rng: random.Random) -> str:
    """The text with a few of its words lost, doubled, exchanged or replaced."""
    words = re.findall(r"\s+|\w+|[^\w\s]", text)
    for _ in range(rng.choice([1, 1, 2, 3])):
        k, j = rng.randrange(len(words)), rng.randrange(len(words))
        match rng.randrange(4):
            case 0:
                del words[k]
            case 1:
                words.insert(k, words[j])
            case 2:
                words[k], words[j] = words[j], words[k]
            case _:
                words[k] = rng.choice(WORDS)
    return "".join(words)


def used(text: str, rng: random.Random) -> None:
    """What a person does with a nest: look, check, ask what can be done, do it."""
    func = parse(text)
    assert parse(to_text(func)) == func
    schedule = Schedule(func)
    moves = schedule.moves()
    for move in rng.sample([m for m in moves if m.legal], min(3, sum(m.legal for m in moves))):
        schedule.copy().apply(move.step)
    _ = schedule.domain.size
    verify(func)


@pytest.mark.parametrize("seed", range(4))
def test_garbled_texts(seed):
    """Most are refused by the parser; what is left does no harm either."""
    rng = random.Random(seed)
    texts = [SMALL, HOLED, to_text(workloads.softmax(4, 6)), to_text(workloads.matmul(4, 6, 8, bias=True))]
    refused = 0
    for _ in range(150):
        try:
            used(garbled(rng.choice(texts), rng), rng)
        except WorkbenchError:
            refused += 1
    assert 50 < refused < 150


# ------------------------------------------------------------------------------------------------------- expressions


def squared(times: int) -> te.Tensor:
    a = te.placeholder((4,), name="A")

    def value(i: te.Axis) -> te.Value:
        x = a[i]
        for _ in range(times):
            x = x * x
        return x

    return te.compute((4,), value, name="B")


EXPRESSIONS = {
    "squares of squares": (lambda: squared(60), "te.size"),
    "a sum of thousands": (
        lambda: te.compute((4,), lambda i: sum((te.const(1.0) for _ in range(5000)), te.const(0.0)), name="B"),
        "te.size",
    ),
    "a dimension without end": (lambda: te.placeholder((1 << 40,)), "te.shape"),
    "a dimension of 5000 digits": (lambda: te.placeholder((10**5000,)), "te.shape"),
    "a negative dimension": (lambda: te.placeholder((-(10**5000),)), "te.shape"),
    "an axis over nothing": (lambda: te.reduce_axis(0), "te.shape"),
    "an axis over words": (lambda: te.reduce_axis("many"), "te.shape"),
    "elements that are objects": (lambda: te.placeholder((4,), "object"), "te.dtype"),
    "elements of 16 bytes": (lambda: te.placeholder((4,), "float128"), "te.dtype"),
    "a cast to nothing": (lambda: te.cast(te.const(1.0), "flaot32"), "te.dtype"),
    "a constant that is a word": (lambda: te.const("one"), "te.value"),
    "a constant beyond its type": (lambda: te.const(300, "uint8"), "te.dtype"),
    "a fraction of a whole number": (lambda: te.const(1.5, "int32"), "te.dtype"),
    "a number that no float holds": (lambda: te.const(1.0) + 10**400, "te.dtype"),
    "an index that is a word": (lambda: te.placeholder((4,), name="A")["i"], "te.index"),
    "an index between two": (lambda: te.placeholder((4,), name="A")[1.5], "te.index"),
    "a part of a tensor": (lambda: te.placeholder((4,), name="A")[1:], "te.index"),
    "a sum over a number": (lambda: te.sum(te.const(1.0), axis=3), "te.reduce_axis"),
    "a sum over numbers": (lambda: te.sum(te.const(1.0), axis=[3]), "te.reduce_axis"),
    "nothing joined": (lambda: te.concat([]), "te.concat"),
    "numbers joined": (lambda: te.concat([3]), "te.concat"),
    "joined along nothing": (lambda: te.concat([te.placeholder((4,))], axis=5), "te.concat"),
    "a name that is a number": (lambda: te.placeholder((4,), name=3), "usage.type"),
    "a function called by a number": (lambda: te.func(te.placeholder((4,)), name=3), "usage.type"),
    "a constant of nothing": (lambda: te.const(1.0, "complex64"), "te.dtype"),
}


@pytest.mark.parametrize(("make", "code"), EXPRESSIONS.values(), ids=EXPRESSIONS)
def test_expressions_that_make_no_sense(make, code):
    with pytest.raises(WorkbenchError) as caught:
        make()
    assert caught.value.code == code


def test_thousands_of_stages():
    t = te.placeholder((2,), name="A")
    for k in range(3000):
        t = te.compute((2,), lambda i, x=t: x[i] + 1.0, name=f"B{k}")
    assert [s.body[0].name for s in te.func(t).body] == [f"B{k}" for k in range(3000)]


def test_shared_parts_are_counted_as_often_as_they_occur():
    assert measure(squared(3).stages[0].value) == (15, 4)
    assert measure(squared(9).stages[0].value) == (1023, 10)


def test_the_largest_expression_can_be_scheduled():
    """Just below the limits everything works: the interpreter, text and back, a split with holes."""
    a = te.placeholder((4,), name="A")

    def value(i: te.Axis) -> te.Value:
        x = a[i]
        for _ in range(145):
            x = te.maximum(x, 0.5)
        return x

    func = te.func(te.compute((4,), value, name="B"))
    s = Schedule(func)
    s.split("i", [None, Hole("t")])
    filled = s.fill({"t": 2})
    verify(filled.func)
    assert parse(to_text(filled.func)) == filled.func

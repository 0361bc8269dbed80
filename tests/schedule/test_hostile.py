"""What nobody means to write: every step and every trace is refused in a sentence, never with a bare traceback."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
from schedule import nests

from workbench import te
from workbench.errors import WorkbenchError
from workbench.ir.verify import verify
from workbench.schedule import Hole, Schedule, registry
from workbench.schedule.hole_domain import factor_table, ways
from workbench.schedule.primitive import COMMON_CODES, Primitive, from_json
from workbench.schedule.primitives.split import Split
from workbench.schedule.primitives.storage_scope import SetScope

HUGE = 10**5000  # more digits than Python prints


def fresh() -> Schedule:
    return Schedule(nests.epilogue())


def nested(levels: int) -> list:
    out: list = []
    for _ in range(levels):
        out = [out]
    return out


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


CALLS = {
    "bogus choice in a hole": lambda s: s.split("i", [None, 4], Hole(choices=["bogus"])),
    "bogus scope in a hole": lambda s: s.set_scope("C", Hole(choices=["local", "bogus"])),
    "bogus binding in a hole": lambda s: s.bind("i", Hole(choices=["bogus"])),
    "loop that is a list": lambda s: s.split(Hole(choices=[["i"]]), [None, 2]),
    "factor that is a list": lambda s: s.split("i", [None, Hole(choices=[[2]])]),
    "size of tiles in words": lambda s: s.winograd("C", Hole(choices=["two"])),
    "hole in a hole": lambda s: s.vectorize(Hole(choices=[Hole(choices=["i"])])),
    "hole without choices for a word": lambda s: s.set_scope("C", Hole()),
    "hole without choices for a loop": lambda s: s.vectorize(Hole("x")),
    "hole without choices for a tile": lambda s: s.winograd("C", Hole()),
    "name of a hole that is none": lambda s: s.split("i", [None, Hole(3)]),
    "choices that are a word": lambda s: s.split("i", [None, Hole(choices="ab")]),
    "choices that are a number": lambda s: s.split("i", [None, Hole(choices=4)]),
    "factor with 5000 digits": lambda s: s.split("i", [None, HUGE]),
    "negative factor with 5000 digits": lambda s: s.split("i", [None, -HUGE]),
    "choice with 5000 digits": lambda s: s.split("i", [None, Hole(choices=[HUGE])]),
    "factor of 2**31": lambda s: s.split("i", [None, 1 << 31], "guard"),
    "dimension with 5000 digits": lambda s: s.transform_layout("B", HUGE, 4),
    "note with 5000 digits": lambda s: s.annotate("i", "x", -HUGE),
    "thousands of factors": lambda s: s.split("i", [1] * 1500),
    "thousands of parts of a block": lambda s: s.transform_layout("B", 0, [1] * 1500),
    "parts of parts of a block": lambda s: s.transform_layout("B", 0, [[4]]),
    "padding to 10**12": lambda s: s.pad("C", "i", 10**12),
    "padding of rows to 10**30": lambda s: s.storage_align("C", 0, 10**30),
    "array for a word": lambda s: s.set_scope("C", np.array(["local", "shared"])),
    "array without dimensions": lambda s: s.split("i", np.array(3)),
    "array for a flag of a word": lambda s: s.split("i", np.array([[1, 2]])),
    "lists in lists": lambda s: s.split("i", nested(900)),
    "what cannot be shown": lambda s: s.split(Unprintable(), [None, Unprintable()]),
    "a step that is none": lambda s: s.apply("split"),
    "self by name": lambda s: s.split(self="i"),
    "undo 5000 digits": lambda s: s.undo(-HUGE),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_arguments_that_make_no_sense(call):
    s = fresh()
    with pytest.raises(WorkbenchError) as caught:
        call(s)
    assert caught.value.code in ("primitive.argument", "usage.type", "usage.number")
    assert caught.value.message
    assert len(caught.value.message) < 400
    assert not s.trace


ASKED = {
    "moves at a number": (lambda s: s.moves(3), "schedule.name"),
    "moves at nothing that can be shown": (lambda s: s.moves(Unprintable()), "schedule.name"),
    "a loop by number": (lambda s: s.func.loop(3), "loop.unknown"),
    "a block by number": (lambda s: s.func.block(None), "block.unknown"),
    "a buffer by number": (lambda s: s.func.buffer(3), "buffer.unknown"),
    "a primitive by list": (lambda s: registry[[]], "primitive.unknown"),
    "a watcher that is none": (lambda s: s.watch(3), "usage.type"),
    "a row without dimensions": (lambda s: s.fill(np.array(3)), "hole.value"),
    "a row of rows": (lambda s: s.fill(np.ones((3, 3), int)), "hole.value"),
    "a row with 5000 digits": (lambda s: s.fill({"t": HUGE}), "hole.value"),
    "fewer samples than none": (lambda s: s.domain.sample(-1, np.random.default_rng(0)), "usage.number"),
}


@pytest.mark.parametrize(("ask", "code"), ASKED.values(), ids=ASKED)
def test_questions_that_make_no_sense(ask, code):
    s = fresh()
    s.split("i", [None, Hole("t")])
    with pytest.raises(WorkbenchError) as caught:
        ask(s)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "step", [SetScope("C", Hole()), Split("i", (None, 4), Hole()), Split(Hole(), (None, Hole()))], ids=str
)
def test_steps_made_by_hand(step):
    """What did not go through `make` has not been cleaned."""
    with pytest.raises(WorkbenchError) as caught:
        fresh().apply(step)
    assert caught.value.code == "primitive.argument"
    with pytest.raises(WorkbenchError) as caught:
        step.resolve(fresh().func).check(fresh().func)
    assert caught.value.code == "primitive.argument"


def test_choices_are_cleaned_like_values():
    s = fresh()
    s.split("i", [None, Hole("t", choices=[np.int64(2), 4])])
    assert [type(c) for c in s.trace[0].factors[1].choices] == [int, int]
    assert json.loads(json.dumps(s.to_json())) == s.to_json()


BROKEN = {
    "argument called cls": [{"primitive": "split", "args": {"loop": "i", "factors": [2], "cls": 1}}],
    "argument called self": [{"primitive": "split", "args": {"self": 1}}],
    "deep arguments": [{"primitive": "split", "args": {"loop": "i", "factors": nested(20_000)}}],
    "deep step": nested(20_000),
    "deep text": "[" * 100_000,
    "deep object": '{"a":' * 100_000,
    "number of 5000 digits": "[" + "1" * 5000 + "]",
    "bytes": b"[]",
    "infinite factor": '[{"primitive": "split", "args": {"loop": "i", "factors": [Infinity]}}]',
    "name that is a list": [{"primitive": ["split"], "args": {}}],
    "hole with deep choices": [
        {"primitive": "split", "args": {"loop": "i", "factors": [{"hole": None, "choices": nested(20_000)}]}}
    ],
    "hole without choices": [{"primitive": "split", "args": {"loop": "i", "factors": [{"hole": "a", "choices": []}]}}],
    "arguments that are a list": [{"primitive": "split", "args": []}],
}


@pytest.mark.parametrize("trace", BROKEN.values(), ids=BROKEN)
def test_traces_that_make_no_sense(trace):
    with pytest.raises(WorkbenchError) as caught:
        Schedule.from_json(nests.epilogue(), trace)
    assert len(caught.value.message) < 400
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("step", [{"primitive": "split", "args": {"cls": 1}}, {"primitive": "split", "args": {1: 2}}])
def test_steps_that_make_no_sense(step):
    with pytest.raises(WorkbenchError):
        from_json(step)


# ---------------------------------------------------------------------------------------------------- open loops, holes


def test_a_loop_left_open_beside_a_factor_left_open():
    """New holes have the names that the first legal loop gives them, in all variants and in the trace."""
    s = fresh()
    assert s.split(Hole("which", choices=["nonsense", "j", "i"]), [None, Hole()]) == ("j.0", "j.1")
    assert [h.name for h in s.holes] == ["j_0", "j_1"]
    assert s.trace[0].factors == (None, Hole("j_1"))
    assert s.trace[0].loop == Hole("which", choices=["nonsense", "j", "i"])
    found = list(s.variants())
    assert [v.trace[0].loop for v in found] == ["j", "i"]
    for v in found:
        nests.check_rows(v)
    again = Schedule.from_json(s.base, s.to_json())
    assert again.func == s.func
    nests.check_rows(s.fill({"j_1": 4}))


def test_holes_of_a_tile_have_different_names():
    """Two loops whose names differ in what a hole's name cannot have."""
    a = te.placeholder((8, 8), name="A")
    s = Schedule(te.func(te.compute((8, 8), lambda i_0, i: a[i_0, i] * 2.0, name="B")))
    s.split("i", [4, 2])
    s.reorder("i.1", "i_0", "i.0")
    s.tile("i_0", "i.0", [None, Hole()], [None, Hole()])
    assert len({h.name for h in s.holes}) == len(s.holes) == 4
    nests.check_rows(s)


# --------------------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize(
    "step",
    [
        lambda s: s.split("i", [1 << 30, 1 << 30], "guard"),
        lambda s: s.pad("C", "k", (1 << 31) - 1).split("k", [None, 3], "guard"),
        lambda s: s.storage_align("C", 0, 1 << 30),
        lambda s: s.pad("C", "i", (1 << 31) - 1),
    ],
    ids=["guarded", "padded reduction", "padded rows", "padded axis"],
)
def test_nests_do_not_grow_without_end(step):
    with pytest.raises(WorkbenchError) as caught:
        step(fresh())
    assert caught.value.code == "nest.size"


def test_a_function_that_is_large_already_may_stay_so():
    size = 1 << 33
    a = te.placeholder((size,), name="A")
    s = Schedule(te.func(te.compute((size,), lambda i: a[i] + 1.0, name="B")))
    s.split("i", [None, 16])
    s.fuse("i.0", "i.1")
    assert s.loops[0].extent == size
    assert s.cache_write("B") == "B.copy"


def test_a_long_chain_of_splits_ends_in_a_sentence():
    s = fresh()

    def on(name: str = "i") -> None:
        while True:
            name, _ = s.split(name, [None, 1])

    with pytest.raises(WorkbenchError) as caught:
        on()
    assert caught.value.code == "nest.depth"
    nests.check_rows(s)


def test_values_do_not_double_without_end():
    """Every stage adds the one before to itself."""
    stages = [te.placeholder((2,), name="A")]
    for k in range(40):
        stages.append(te.compute((2,), lambda i, x=stages[-1]: x[i] + x[i], name=f"D{k}"))
    s = Schedule(te.func(stages[-1]))
    inline = [f"D{k}" for k in range(39)]
    with pytest.raises(WorkbenchError) as caught:
        list(map(s.compute_inline, inline))
    assert caught.value.code == "compute_inline.size"
    assert 10 < len(s.trace) < 16


def test_holes_without_end_are_no_table():
    s = Schedule(te.func(te.compute((1 << 30,), lambda i: te.const(1.0), name="B")))
    s.split("i", [Hole() for _ in range(30)])
    with pytest.raises(WorkbenchError) as caught:
        _ = s.domain
    assert caught.value.code == "hole.many"
    for extent in (1, 7, 12, 64, 97, 720):
        for parts in (1, 2, 3):
            assert ways(extent, parts) == len(factor_table(extent, parts))


def test_extents_that_nobody_can_factor():
    """The square of a large prime: a hint that names divisors would take minutes."""
    a = te.placeholder((2, 2), name="A")
    s = Schedule(te.func(te.compute(((1 << 31) - 1, (1 << 31) - 1), lambda i, j: a[0, 0], name="B")))
    s.fuse("i", "j")
    with pytest.raises(WorkbenchError) as caught:
        s.split("i.j", [None, 2])
    assert caught.value.code == "split.divides"
    assert caught.value.hint


# --------------------------------------------------------------------------------------- after steps that leave a mess

SPLITS = {
    "initialised apart": [("decompose_reduction", "C", "k")],
    "initialised outside": [("decompose_reduction", "C", "i")],
    "peeled": [("split", "i", [None, 5], "peel")],
    "peeled reduction": [("split", "k", [None, 3], "peel")],
    "peeled and initialised": [("split", "k", [None, 3], "peel"), ("decompose_reduction", "C", "k.0")],
    "guarded": [("split", "i", [None, 5], "guard")],
    "guarded reduction": [("split", "k", [None, 3], "guard")],
    "padded": [("pad", "C", "i", 16)],
    "reduced in two steps, peeled": [("split", "k", [None, 4]), ("rfactor", "k.1"), ("split", "i", [None, 5], "peel")],
}
#: Values of a field that has no options of its own.
VALUES = {
    "factors": [(None, 2), (None, 5), (2, None, 2), (None, Hole())],
    "size": [2, 3, 4],
    "number": [-1, 0, 1, 16, 18],
}


def some_steps(schedule: Schedule, cls: type[Primitive], count: int, rng: np.random.Generator) -> Iterator[Primitive]:
    """Steps with any names at all in their fields, not only those that a menu would offer."""
    func = schedule.func
    for _ in range(count):
        args: dict[str, object] = {}
        for f in cls.fields():
            values = VALUES.get(f.kind.widget) or f.kind.options(func, args)
            picked = values[rng.integers(len(values))]
            if f.kind.variadic:
                picked = tuple(values[k] for k in rng.integers(len(values), size=rng.integers(1, 4)))
            args[f.name] = picked
        yield cls(**args)


def refused(schedule: Schedule, step: Primitive) -> WorkbenchError | None:
    """Take a step; why not, where it is refused."""
    try:
        schedule.apply(step)
    except WorkbenchError as e:
        return e
    return None


@pytest.mark.parametrize("steps", SPLITS.values(), ids=SPLITS)
def test_what_comes_after_teaches(steps):
    """Two writers, conditions and padding: a later step does right, or says what to do."""
    s = fresh()
    for name, *args in steps:
        getattr(s, name)(*args)
    given, expected = nests.inputs_and_result(s.base)
    rng = np.random.default_rng(len(s.nest()))
    taken = 0
    for cls in registry:
        for step in some_steps(s, cls, 25, rng):
            t = s.copy()
            refusal = refused(t, step)
            if refusal is not None:
                assert refusal.hint, refusal
                assert refusal.code in {*cls.codes, *COMMON_CODES}
                continue
            taken += 1
            verify(t.func)
            if not t.holes and rng.random() < 0.05:
                nests.check(t, given, expected)
    assert taken > 20

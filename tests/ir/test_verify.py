from __future__ import annotations

from dataclasses import replace

import pytest

from workbench import workloads
from workbench.errors import WorkbenchError
from workbench.intrinsics import registry
from workbench.ir import Affine, HoleInfo, Relation
from workbench.ir.func import subst_holes
from workbench.ir.poly import hole
from workbench.ir.text.parser import parse
from workbench.ir.text.printer import to_text
from workbench.ir.verify import verify

MATMUL = to_text(workloads.matmul(8, 8, 8))
PADDED = """\
f(X: input float32[4], Y: output float32[4]):
  temp P: float32[6]
  for p in 6:
    block P(i: 6 = p):
      P[i] = select(1 <= i < 5, X[i - 1], 0.0)
  for y in 4:
    for k in 3:
      block Y(i: 4 = y, reduce k: 3):
        init Y[i] = 0.0
        Y[i] = Y[i] + P[i + k]
"""
SYMBOLIC = """\
f(X: input float32[64], Y: output float32[64]):
  temp P: float32[64]
  hole ?a
  hole ?b
  hole ?c
  relation ?a*?b*?c = 64
  for i.0 in ?a:
    for p in ?b*?c:
      block P(i: 64 = i.0 * ?b*?c + p):
        P[i] = X[i]
    for i.1 in ?b:
      for i.2 in ?c:
        block Y(i: 64 = i.0 * ?b*?c + i.1 * ?c + i.2):
          Y[i] = P[i]
"""
TAIL = """\
f(X: input float32[13], Y: output float32[13]):
  for i.0 in 4:
    for i.1 in 4:
      block Y(i: 13 = i.0 * 4 + i.1):
        when i < 13
        Y[i] = X[i]
"""
QUOTIENT = """\
f(X: input float32[3], Y: output float32[8]):
  for y in 8:
    block Y(i: 8 = y):
      Y[i] = select(0 <= i < 6, X[(i // 2)], 0.0)
"""
THREADS = """\
f(X: input float32[8, 8], Y: output float32[8, 8]):
  temp P: float32[8, 8] scope(shared) align(0: 16 + 4)
  blockIdx.x i in 8:
    threadIdx.x p in 8:
      block P(i: 8, j: 8 = p):
        P[i, j] = X[i, j]
    threadIdx.x t in 8:
      block Y(i: 8, j: 8 = t):
        Y[i, j] = P[i, j]
"""


DIGIT = QUOTIENT.replace("(i // 2)", "(i // 2 % 4)")
#: Sixteen values packed to fours, after padding; a kernel for Winograd's tiles.
PACKED = """\
f(X: const float32[5, 4] packed(0: 17 zeros 20, 0: 4), W: const float32[4, 4, 2] packed(winograd: 2), \
Y: output float32[5, 4]):
  for i in 5 @block="rows":
    for j in 4 @block="row":
      block Y(i: 5, j: 4) @a=1:
        Y[i, j] = X[i, j] + W[0, 1, 1]
"""
DOT = PACKED.replace("for j in 4", "for j in 4 intrin x86.vnni.dot4")


GOOD = [
    PACKED,
    DOT,
    MATMUL,
    PADDED,
    SYMBOLIC,
    TAIL,
    QUOTIENT,
    DIGIT,
    THREADS,
    THREADS.replace("threadIdx.x", "vthread"),
    THREADS.replace("shared", "local"),  # each element is one thread's
]


@pytest.mark.parametrize("text", GOOD)
def test_good_nests_pass(text):
    verify(parse(text), registry.names)


@pytest.mark.parametrize("name", workloads.ALL)
def test_workloads_pass(name):
    verify(workloads.ALL[name]())


WRONG = [
    ("two loops of one name", MATMUL, [("for j in 8", "for i in 8"), ("j: 8", "j: 8 = i")], "name"),
    ("index leaves its buffer", MATMUL, [("A[i, k]", "A[i + 1, k]")], "index_range"),
    ("index below zero", MATMUL, [("A[i, k]", "A[i - 1, k]")], "index_range"),
    ("loop too long", MATMUL, [("for j in 8", "for j in 9")], "axis_range"),
    ("loop too short", MATMUL, [("for j in 8", "for j in 7")], "coverage"),
    ("reduction loop too short", MATMUL, [("for k in 8", "for k in 7")], "coverage"),
    (
        "loop that moves nothing",
        MATMUL,
        [("reduce k: 8):", "reduce k: 1 = 0):"), ("A[i, k] * B[k, j]", "A[i, 0] * B[0, j]")],
        "coverage",
    ),
    ("output written twice", TAIL, [("    for i.1 in 4:\n", "    for z in 2:\n     for i.1 in 4:\n")], "coverage"),
    ("no guard", TAIL, [("        when i < 13\n", "")], "axis_range"),
    ("guard too wide", TAIL, [("when i < 13", "when i < 14")], "axis_range"),
    ("tail not covered", TAIL, [("for i.0 in 4", "for i.0 in 3")], "coverage"),
    ("stride overlaps", TAIL, [("i.0 * 4", "i.0 * 3")], "coverage"),
    ("select too wide", PADDED, [("1 <= i < 5", "1 <= i < 6")], "index_range"),
    ("select too low", PADDED, [("1 <= i < 5", "0 <= i < 5")], "index_range"),
    ("select too wide for a half", QUOTIENT, [("0 <= i < 6", "0 <= i < 7")], "index_range"),
    ("the half of another", QUOTIENT, [("(i // 2)", "(i // 2 % 4)"), ("< 6", "< 7")], "index_range"),
    ("parallel reduction", MATMUL, [("for k", "parallel k")], "kind"),
    ("vector reduction", MATMUL, [("for k", "vectorize k")], "kind"),
    ("init from nowhere", MATMUL, [("init C[i, j] = 0.0", "init C[i, j] = C[i, j]")], "order"),
    (
        "writes an input",
        TAIL,
        [("X: input", "Z: input"), ("Y: output", "X: input"), ("Y[i] = X[i]", "X[i] = Z[i]")],
        "role",
    ),
    (
        "symbolic width too small",
        SYMBOLIC,
        [("p in ?b*?c", "p in ?b"), ("i.0 * ?b*?c + p", "i.0 * ?a*?c + p")],
        "axis_range",
    ),
    ("symbolic order of factors", SYMBOLIC, [("i.1 * ?c + i.2", "i.1 * ?b + i.2")], "axis_range"),
    ("symbolic cover", SYMBOLIC, [("i.0 * ?b*?c + i.1 * ?c + i.2", "i.1 * ?c + i.2")], "coverage"),
    ("reduction with no initial value", MATMUL, [("          init C[i, j] = 0.0\n", "")], "reduction"),
    ("blocks of a grid reduce", MATMUL, [("for k", "blockIdx.x k")], "kind"),
    ("virtual threads reduce", MATMUL, [("for k", "vthread k")], "kind"),
    ("one thread twice", MATMUL, [("for i", "threadIdx.x i"), ("for j", "threadIdx.x j")], "kind"),
    ("threads share what is local", THREADS, [("shared", "local"), ("= P[i, j]", "= P[i, 7 - j]")], "scope"),
    ("blocks share", THREADS, [("threadIdx.x", "blockIdx.y")], "scope"),
    ("an input with a scope", MATMUL, [("A: input float32[8, 8]", "A: input float32[8, 8] scope(global)")], "scope"),
    ("an output with padding", MATMUL, [("output float32[8, 8]", "output float32[8, 8] align(0: 16)")], "scope"),
    ("padding of a dimension that is not there", THREADS, [("align(0", "align(2")], "align"),
    ("padding between neighbours", THREADS, [("align(0", "align(1")], "align"),
    ("padding twice", THREADS, [("align(0: 16 + 4)", "align(0: 16, 0: 32)")], "align"),
    ("an offset that is no rest", THREADS, [("16 + 4", "16 + 16")], "align"),
    ("two notes of one key", MATMUL, [("for k in 8", "for k in 8 @a=1 @a=2")], "note"),
    ("two notes of one key on a block", PACKED, [("@a=1", "@a=1 @a=2")], "note"),
    ("two units of one name", PACKED, [('"rows"', '"row"')], "name"),
    ("packed along a dimension that is not there", PACKED, [("0: 4)", "1: 4)")], "layout"),
    ("packed to blocks of another size", PACKED, [("0: 4)", "0: 5)")], "layout"),
    ("packed to empty blocks", PACKED, [("0: 4)", "0: 0)")], "layout"),
    ("padded to another size", PACKED, [("zeros 20", "zeros 21")], "layout"),
    ("padded to less", PACKED, [("17 zeros", "20 zeros")], "layout"),
    ("padded along a dimension that is not there", PACKED, [("0: 17", "1: 17")], "layout"),
    ("tiles of another size", PACKED, [("winograd: 2", "winograd: 4")], "layout"),
    ("a packed result", MATMUL, [("output float32[8, 8]", "output float32[8, 8] packed(0: 8)")], "layout"),
    ("an intrinsic in an intrinsic", DOT, [("for i in 5", "for i in 5 intrin x86.vnni.dot4")], "intrinsic"),
    ("an intrinsic that is none", DOT, [("vnni.dot4", "vnni.dot5")], "intrinsic"),
    ("no accumulation", MATMUL, [("C[i, j] + A[i, k]", "A[i, k] + A[i, k]")], "reduction"),
]


@pytest.mark.parametrize(("text", "edits", "code"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_wrong_nests_are_found(text, edits, code):
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new)
    with pytest.raises(WorkbenchError) as e:
        verify(parse(text), registry.names)
    assert e.value.code.startswith(f"verify.{code}")


def test_consumer_before_producer():
    func = parse(PADDED)
    with pytest.raises(WorkbenchError, match="before it is complete"):
        verify(replace(func, body=func.body[::-1]))


def test_output_that_nothing_writes():
    func = parse(PADDED)
    with pytest.raises(WorkbenchError, match="Nothing writes"):
        verify(replace(func, body=func.body[:1]))


def test_unbound_axis():
    func = parse(TAIL)
    block, _ = func.block("Y")
    body = (replace(block, binds=(Affine.var("nowhere"),)),)
    with pytest.raises(WorkbenchError, match="no loop around it"):
        verify(replace(func, body=body))


def test_reduction_under_a_loop_that_revisits_the_element():
    """The spatial tiles overlap inside the reduction loop, so an element accumulates twice per step."""
    text = PADDED.replace(
        "for y in 4:\n    for k in 3:\n      block Y(i: 4 = y,",
        "for k in 3:\n    for y in 3:\n     for z in 2:\n      block T(i: 4 = y + z,",
    )
    text = text.replace("Y[i]", "T[i]").replace("temp P: float32[6]", "temp P: float32[6]\n  temp T: float32[4]")
    text += "  for o in 4:\n    block Y(i: 4 = o):\n      Y[i] = T[i]\n"
    with pytest.raises(WorkbenchError) as e:
        verify(parse(text))
    assert e.value.code == "verify.reduction"


def test_holes_must_be_declared_and_relations_disjoint():
    func = parse(SYMBOLIC)
    with pytest.raises(WorkbenchError, match="does not declare"):
        verify(replace(func, holes=func.holes[:2], relations=()))
    with pytest.raises(WorkbenchError) as e:
        verify(replace(func, relations=(*func.relations, Relation(("a",), 2))))
    assert e.value.code == "verify.relation"
    with pytest.raises(WorkbenchError) as e:
        verify(replace(func, aliases=(("a", hole("b")),)))
    assert e.value.code == "verify.hole"


def test_a_filled_nest_is_verified_with_numbers():
    func = subst_holes(parse(SYMBOLIC), {"a": 4, "b": 2, "c": 8})
    verify(replace(func, holes=(), relations=()))
    wrong = subst_holes(parse(SYMBOLIC), {"a": 4, "b": 2, "c": 4})
    with pytest.raises(WorkbenchError):
        verify(replace(wrong, holes=(), relations=()))
    with pytest.raises(WorkbenchError):
        verify(replace(func, holes=(HoleInfo("a"), HoleInfo("a")), relations=()))

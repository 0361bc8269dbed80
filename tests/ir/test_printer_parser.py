from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench import workloads
from workbench.errors import ParseError
from workbench.ir import (
    Affine,
    Align,
    Binary,
    Block,
    Bound,
    Buffer,
    Cast,
    Const,
    Constraint,
    Digit,
    For,
    Func,
    HoleInfo,
    Index,
    Iter,
    LayoutStep,
    Load,
    LoopKind,
    Relation,
    Select,
    Unary,
    Where,
)
from workbench.ir.expr import BINARY_OPS, UNARY_OPS
from workbench.ir.func import Scope
from workbench.ir.poly import hole
from workbench.ir.size_limits import EXTENT_LIMIT
from workbench.ir.text.parser import parse, read
from workbench.ir.text.printer import to_text
from workbench.ir.winograd_weights import WinogradStep

NAMES = ("i", "j.0", "for", "a b", "`tick\\", "conv/x:0", "é1", "max", "in", "reduce")
HOLES = ("i0", "i1", "j.f0", "for", "x y")
DTYPES = ("float32", "float64", "float16", "int64", "int32", "int8", "uint8", "bool")


def round_trip(func: Func) -> str:
    text = to_text(func)
    assert read(text) == func
    assert to_text(read(text)) == text
    return text


@pytest.mark.parametrize("name", workloads.ALL)
def test_workloads_round_trip(name):
    round_trip(workloads.ALL[name]())


dims = st.recursive(
    st.integers(-4, 9) | st.sampled_from(HOLES).map(hole),
    lambda d: st.tuples(d, d).map(lambda p: p[0] + p[1]) | st.tuples(d, d).map(lambda p: p[0] * p[1]),
    max_leaves=4,
)
positive = st.integers(2, 9) | st.sampled_from(HOLES).map(hole)
digits = st.builds(Digit, st.sampled_from(NAMES), st.just(1) | positive, st.none() | positive)
affines = st.builds(Affine.make, st.lists(st.tuples(digits, dims), max_size=3), dims)
bounds = st.builds(Bound, affines, st.just(-EXTENT_LIMIT) | dims, st.just(EXTENT_LIMIT) | dims)


def constants():
    floats = st.floats(width=32).filter(lambda x: x == x)
    return st.one_of(
        st.builds(Const, floats, st.sampled_from(("float32", "float64", "float16"))),
        st.builds(Const, st.integers(-200, 200), st.sampled_from(("int64", "int32", "uint8"))),
        st.builds(Const, st.booleans(), st.just("bool")),
    )


BUFFERS = {"X": 1, "max": 2, "y.z": 0}
loads = st.sampled_from(sorted(BUFFERS)).flatmap(
    lambda n: st.builds(Load, st.just(n), st.tuples(*[affines] * BUFFERS[n]))
)
exprs = st.recursive(
    constants() | loads | affines.map(Index),
    lambda e: st.one_of(
        st.builds(Unary, st.sampled_from(UNARY_OPS), e),
        st.builds(Binary, st.sampled_from(BINARY_OPS), e, e),
        st.builds(Select, st.lists(bounds, min_size=1, max_size=2).map(tuple), e, e),
        st.builds(Where, e, e, e),
        st.builds(Cast, st.sampled_from(DTYPES), e),
    ),
    max_leaves=6,
)
notes = st.lists(st.tuples(st.sampled_from(NAMES), st.integers(-9, 9) | st.text('ab"\\\n@ ', max_size=4)), max_size=2)
notes = notes.map(tuple)
unique_names = st.permutations(NAMES)


@st.composite
def funcs(draw):
    names = draw(unique_names)
    iters = tuple(Iter(n, draw(dims), draw(st.sampled_from("SR"))) for n in NAMES)
    binds = tuple(draw(affines) for _ in iters)
    guard = tuple(draw(st.lists(bounds, max_size=2)))
    block = Block(
        draw(st.sampled_from(NAMES)),
        iters,
        binds,
        "max",
        (draw(affines), draw(affines)),
        draw(exprs),
        draw(st.none() | exprs),
        guard,
        draw(notes),
    )
    body = (block, *([For("inner", draw(dims), (block,), "unroll")] if draw(st.booleans()) else []))
    for n in names:
        kind, intrin = draw(st.sampled_from(get_args(LoopKind))), draw(st.none() | st.sampled_from(NAMES))
        body = (For(n, draw(dims), body, kind, draw(notes), intrin),)
    aligns = tuple(Align(d, draw(st.integers(1, 64)), draw(st.integers(0, 9))) for d in range(draw(st.integers(0, 2))))
    packing = st.builds(LayoutStep, st.integers(0, 2), positive, st.booleans())
    layout = tuple(draw(st.lists(packing | st.builds(WinogradStep, st.sampled_from((2, 4))), max_size=2)))
    buffers = (
        Buffer("X", (draw(dims),), draw(st.sampled_from(DTYPES)), draw(st.sampled_from(("input", "const"))), layout),
        Buffer("y.z", (), "float32", "output"),
        Buffer("max", (draw(dims), draw(dims)), "float32", "temp", (), draw(st.sampled_from(get_args(Scope))), aligns),
    )
    holes = tuple(HoleInfo(h, draw(st.none() | st.lists(st.integers(0, 64), max_size=3).map(tuple))) for h in HOLES)
    relations = (Relation(HOLES[:2], draw(st.integers(1, 99))), Relation(HOLES[2:], 8))[: draw(st.integers(0, 2))]
    constraints = tuple(
        Constraint(draw(st.text('ab"\\\n ', max_size=5)), draw(dims)) for _ in range(draw(st.integers(0, 2)))
    )
    return Func("f", buffers, body, holes, relations, constraints, (("old", draw(dims)),))


@settings(max_examples=60, deadline=None)
@given(funcs())
def test_anything_round_trips(func):
    round_trip(func)


@settings(max_examples=150, deadline=None)
@given(exprs)
def test_expressions_round_trip(e):
    axes = tuple(Iter(n, 4, "S") for n in NAMES)
    block = Block("b", axes, tuple(Affine() for _ in axes), "y.z", (), e)
    buffers = (Buffer("X", (4,), role="input"), Buffer("y.z", (), role="output"), Buffer("max", (4, 4)))
    round_trip(Func("f", buffers, (block,), tuple(HoleInfo(h) for h in HOLES)))


def test_what_a_person_reads():
    a = hole("i0") * hole("i1")
    block = Block(
        "C",
        (Iter("i", 512, "S"), Iter("k", 16, "R")),
        (Affine.var("i.0") * hole("i1") + Affine.var("i.1"), Affine.var("k")),
        "C",
        (Affine.var("i"),),
        Binary("add", Load("C", (Affine.var("i"),)), Load("A", (Affine.var("i") * 16 + Affine.var("k"),))),
        Const(0.0),
        (Bound(Affine.var("i"), -EXTENT_LIMIT, 500),),
    )
    body = (For("i.0", hole("i0"), (For("k", 16, (For("i.1", hole("i1"), (block,), "vectorize"),)),), "parallel"),)
    func = Func(
        "rows",
        (Buffer("A", (8192,), role="input"), Buffer("C", (a,), role="output")),
        body,
        (HoleInfo("i0"), HoleInfo("i1", (4, 8))),
        (Relation(("i0", "i1"), 512),),
        (Constraint("vector width", 64 - hole("i1")),),
    )
    assert (
        round_trip(func)
        == """\
rows(A: input float32[8192], C: output float32[?i0*?i1]):
  hole ?i0
  hole ?i1 in {4, 8}
  relation ?i0*?i1 = 512
  require "vector width": 64 - ?i1 >= 0
  parallel i.0 in ?i0:
    for k in 16:
      vectorize i.1 in ?i1:
        block C(i: 512 = i.0 * ?i1 + i.1, reduce k: 16):
          when i < 500
          init C[i] = 0.0
          C[i] = C[i] + A[i * 16 + k]
"""
    )


def test_what_a_person_reads_of_threads_and_memory():
    text = """\
f(X: input float32[8, 8], Y: output float32[8, 8]):
  temp P: float32[8, 8] scope(shared) align(0: 16 + 4)
  blockIdx.x i in 8 @unroll_limit=4:
    for p in 8 intrin copy.row @block="load" @prefetch=2:
      block P(i: 8, j: 8 = p) @note="a \\"word\\"":
        P[i, j] = X[i, j]
    vthread v in 2:
      threadIdx.y t in 4:
        block Y(i: 8, j: 8 = v * 4 + t):
          Y[i, j] = P[i, j]
"""
    func = parse(text)
    assert to_text(func) == text
    loop, _ = func.loop("p")
    assert (loop.intrin, loop.note("prefetch"), loop.note("none"), loop.is_unit) == ("copy.row", 2, None, True)
    assert func.buffer("P").strides() == (20, 1)
    assert func.buffer("P").nbytes == 8 * 20 * 4


def test_comments_and_blank_lines_are_allowed():
    text = to_text(workloads.matmul(4, 4, 4))
    loose = "# a matmul\n\n" + text.replace("for j in 4:", "for j in 4:   # columns\n\n")
    assert parse(loose) == workloads.matmul(4, 4, 4)


GOOD = to_text(workloads.matmul(4, 4, 4))
MISTAKES = [
    ("for j in 4:", "for j in 4", "syntax", 3, "Expected ':'"),
    ("for j in 4:", "fr j in 4:", "syntax", 3, "did you mean 'for'"),
    ("B[k, j]", "B[k, q]", "name", 7, "There is no loop or axis 'q'"),
    ("B[k, j]", "D[k, j]", "name", 7, "There is no buffer 'D'"),
    ("B[k, j]", "B[k]", "syntax", 7, "2 dimensions"),
    ("B[k, j]", "B[k * j, j]", "syntax", 7, "not affine"),
    ("B[k, j]", "sin(B[k, j])", "name", 7, "There is no function 'sin'"),
    ("float32[4, 4], B", "flot32[4, 4], B", "name", 1, "no dtype"),
    ("reduce k: 4", "reduce q: 4", "name", 5, "There is no loop 'q'"),
    ("for k in 4:", "for k in ?n:", "name", 4, "There is no hole ?n"),
    ("for k in 4:", "for k in j:", "syntax", 4, "a number is wanted"),
    ("      for k", "   for k", "indent", 4, ""),
    ("init C[i, j]", "init C[j, i]", "syntax", 7, "same element"),
    ("A: input", "A: given", "syntax", 1, "no role"),
    ("0.0", "0.0f99", "syntax", 6, "no dtype of a literal"),
    ("C[i, j] + A", "C[i, j] $ A", "syntax", 7, "cannot stand here"),
    ("C[i, j] + A", "C[i, j] < C[i, j] < A", "syntax", 7, "do not chain"),
    ("for j in 4:", "for j in 4 @unit:", "syntax", 3, "Expected '='"),
    ("for j in 4:", "for j in 4 @unit=x:", "syntax", 3, "a whole number"),
    ("for j in 4:", "threadIdx.w j in 4:", "syntax", 3, "threadIdx.x"),
    ("4], B", "4] scope(lokal), B", "name", 1, "did you mean 'local'"),
    ("4], B", "4] align(0 + 4), B", "syntax", 1, "Expected ':'"),
    ("4], B", "4] packed(winograd: 3), B", "syntax", 1, "no transform for tiles of 3"),
]


@pytest.mark.parametrize(("old", "new", "code", "line", "says"), MISTAKES)
def test_a_mistake_is_shown_where_it_is(old, new, code, line, says):
    assert old in GOOD
    with pytest.raises(ParseError) as e:
        parse(GOOD.replace(old, new, 1))
    assert e.value.code == f"parse.{code}"
    assert f"line {line}, column" in e.value.message
    assert "^" in e.value.message
    assert says in str(e.value)


@pytest.mark.parametrize("cut", range(0, GOOD.index("init"), 7))
def test_a_text_that_ends_early_is_an_error(cut):
    with pytest.raises(ParseError):
        parse(GOOD[:cut])

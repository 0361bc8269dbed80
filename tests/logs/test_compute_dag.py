"""Computations as TVM prints them: the text is read by a small grammar, and nothing else happens with it."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench import Schedule
from workbench.logs.replays.compute_dag import DagError, computation, parse_dag, parse_dags

TASKS = Path(__file__).parent.parent / "data" / "tvm-tutorial-resnet50-tasks.txt"


def test_the_tasks_of_the_tutorial():
    found = parse_dags(TASKS.read_text())
    assert len(found) == 29, "of two Winograd tasks tables are left out, which are known"
    assert all(dag.key for dag in found)


def extents(text, output=None):
    return {
        f"{b.name}.{it.name}": it.extent
        for b in Schedule(computation(parse_dag(text), output).func).blocks
        for it in b.iters
    }


def test_extents_follow_from_inputs_conditions_and_output():
    text = """
p0 = PLACEHOLDER [1, 112, 112, 8]
pad(a, b, c, d) = tir.if_then_else(((((b >= 1) && (b < 113)) && (c >= 1)) && (c < 113)), p0[a, (b - 1), (c - 1), d], 0f)
pool(a, b, c, d) max= pad[a, ((b*2) + r), ((c*2) + s), d]
"""
    found = extents(text, (1, 56, 56, 8))
    assert found["pad.b"] == found["pad.c"] == 114
    assert found["pool.r"] == found["pool.s"] == 3
    assert found["pool.b"] == 56


def test_extents_without_an_output():
    found = extents("p0 = PLACEHOLDER [9, 8]\nw = PLACEHOLDER [3]\nC(i, j) += (p0[((i*2) + r), j]*w[r])\n")
    assert found == {"C.i": 4, "C.j": 8, "C.r": 3}


def test_values():
    text = "A = PLACEHOLDER [6]\nB(i) = (tir.exp(A[i])/(float32((select((bool)1, ((0 + 1)*7), 8) - 0))))\n"
    func = computation(parse_dag(text)).func
    x = np.linspace(0, 1, 6, dtype=np.float32)
    np.testing.assert_allclose(Schedule(func).build()(x), np.exp(x) / 7, rtol=1e-6)


TABLE = (
    "B(i, j) = select(((floormod(i, 4) == 3) && (floormod(j, 4) == 3)), 1f, select( ..(OMITTED).. "
    "select(((floormod(i, 4) == 0) && (floormod(j, 4) == 0)), 1f, 0f))))"
)


@pytest.mark.parametrize("size", [4, 6])
def test_tables_of_winograd_are_those_of_a_convolution(size):
    """What TVM's tables do: a dimension of size - 2 results out of `size` elements and products, exactly."""
    table = TABLE.replace(", 4)", f", {size})").replace("== 3", f"== {size - 1}")
    text = f"P = PLACEHOLDER [{size}]\n{table}\nC(j) += (P[r]*B[r, j])\n"
    image = np.random.default_rng(size).integers(-9, 9, size).astype(np.float32)
    kernel = np.array([2.0, -3.0, 5.0])
    points = {4: (0, -1, 1), 6: (0, -1, 1, 0.5, -2)}[size]
    weights = [np.prod([p - q for q in points if q != p]) for p in points]
    weights[0] = abs(weights[0])
    ahead = [np.polyval(kernel[::-1], p) / w for p, w in zip(points, weights, strict=True)]
    products = Schedule(computation(parse_dag(text)).func).build()(image) * [*ahead, kernel[-1]]
    found = [sum(m * p**k for m, p in zip(products, points, strict=False)) for k in range(size - 2)]
    found[-1] += products[-1]
    np.testing.assert_allclose(found, np.correlate(image, kernel, "valid"), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no stage that computes"),
        ("A = PLACEHOLDER [6]", "no stage that computes"),
        ("A = PLACEHOLDER [6]\nB(i) = __import__('os')", "nothing that the grammar knows"),
        ("A = PLACEHOLDER [6]\nB(i) = eval(A[i])", "'eval' of 1 terms"),
        ("A = PLACEHOLDER [6]\nB(i) = A[i", "'the end' does not belong"),
        ("A = PLACEHOLDER [6]\nB(i) = A[i]]", "']' does not belong"),
        ("A = PLACEHOLDER [6]\nB(i) = C[i]", "before there is a stage"),
        ("A = PLACEHOLDER [6]\nB(i) = " + "(" * 500 + "A[i]" + ")" * 500, "inside each other"),
        ("A = PLACEHOLDER [6]\nB(i) = A[i] ..(OMITTED).. 0f", "left out"),
        (TABLE.replace("== 3)), 1f", "== 3)), 2f"), "left out"),
        (TABLE.replace("B(i, j)", "C(i, j)"), "left out"),
        (TABLE.replace("i, 4", "i, 5"), "left out"),
        ("A = PLACEHOLDER [6]\nB(i, i) = A[i]", "not different names"),
        ("A = PLACEHOLDER [99999999999]\nB(i) = A[i]", "no list of sizes"),
        ("A = PLACEHOLDER [6]\nB(i) = 99999999999999999999", "more than 18 digits"),
        ("<script>alert(1)</script>", "neither a placeholder nor a stage"),
    ],
)
def test_another_text_is_refused(text, message):
    with pytest.raises(DagError, match=r"replay\.dag") as caught:
        computation(parse_dag(text))
    assert message in caught.value.message


@given(st.text(alphabet="AB(i,j)[]=+-*/<>&|0f1 \nPLACEHOLDER.", max_size=200))
def test_any_text_is_read_or_refused(text):
    with contextlib.suppress(DagError):
        computation(parse_dag("A = PLACEHOLDER [6, 4]\nB(i, j) = A[i, j]\n" + text))

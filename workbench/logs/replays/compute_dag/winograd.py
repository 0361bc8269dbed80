"""Winograd convolutions F(m, 3): tables that TVM leaves out of its text, and the text where only the shapes are known.

TVM makes the tables by Cook and Toom's method from points that it has by the size of a tile. A text of a compute DAG
shows the corners of a table and leaves its middle out; the corners are compared.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

KERNEL = 3
POINTS: Mapping[int, tuple[float, ...]] = {4: (0.0, -1.0, 1.0), 6: (0.0, -1.0, 1.0, 0.5, -2.0)}
"""Elements of a tile along a dimension -> the points where products of polynomials are known; the last is infinity."""

OMITTED = "..(OMITTED).."
_HEAD = re.compile(
    r"select\(\(\(floormod\(i, (?P<rows>\d)\) == \d\) && \(floormod\(j, (?P<cols>\d)\) == \d\)\), "
    r"(?P<corner>[-\d.]+)f, "
)
_TAIL = re.compile(r" (?P<corner>[-\d.]+)f, 0f\Z")
_TABLE_TEXT = (
    "select(((floormod(i, {0}) == {2}) && (floormod(j, {1}) == {3})), 1f, select( ..(OMITTED).. "
    "select(((floormod(i, {0}) == 0) && (floormod(j, {1}) == 0)), 1f, 0f))"
)


def table(name: str, text: str) -> NDArray[np.float64] | None:
    """Find the table of which a text shows the corners.

    Parameters
    ----------
    name : str
        Name of the stage: ``A`` transforms results, ``B`` the image.
    text : str
        The value of the stage.

    Returns
    -------
    numpy.ndarray or None
        None where the text is another expression, or has other numbers in the corners.
    """
    front, _, back = text.partition(OMITTED)
    head, tail = _HEAD.match(front), _TAIL.search(back.rstrip(")")[-40:])
    size = int(head["rows"]) if head else 0
    if head is None or tail is None or size not in POINTS or name not in ("A", "B"):
        return None
    values = results_matrix(size) if name == "A" else image_matrix(size)
    shown = [f"{values[at]:g}" for at in ((-1, -1), (0, 0))] == [head["corner"], tail["corner"]]
    return values if shown and values.shape == (size, int(head["cols"])) else None


def results_matrix(size: int) -> NDArray[np.float64]:
    """Powers of the points, ``[size, size - 2]``; the last row is the point at infinity."""
    rows = [[point**k for k in range(size - KERNEL + 1)] for point in POINTS[size]]
    return np.array([*rows, [0.0] * (size - KERNEL) + [1.0]])


def image_matrix(size: int) -> NDArray[np.float64]:
    """Coefficients of the polynomials that are zero at all points but one, a column each, ``[size, size]``; the last
    column is zero at all points. TVM changes the sign of the first one, where that makes its weight positive.
    """
    points = POINTS[size]
    columns = [np.poly([p for p in points if p != point])[::-1] for point in points]
    columns[0] *= np.sign(columns[0][0])
    return np.column_stack([*(np.append(c, 0.0) for c in columns), np.poly(points)[::-1]])


def text_of_shapes(shapes: Sequence[Sequence[int]]) -> str | None:
    """Write the compute DAG of a convolution of an image in NHWC by weights that are transformed already.

    Parameters
    ----------
    shapes : sequence of sequence of int
        Image, weights ``[size, size, outputs, inputs]``, other inputs, result. The other inputs are a residual of the
        result's shape, a factor and a term for each channel, added or multiplied in this order; a ReLU follows the
        last where it is for each channel.

    Returns
    -------
    str or None
        None where the shapes are none of such a convolution.
    """
    if len(shapes) < 3 or any(len(shape) != 4 for shape in shapes):
        return None
    (n, h, w, inputs), (size, width, outputs, reads), *rest, out = map(tuple, shapes)
    if size not in POINTS or (width, reads) != (size, inputs) or out != (n, h, w, outputs):
        return None
    tail = _tail(rest, out)
    if tail is None:
        return None
    m = size - KERNEL + 1
    th, tw = -(-h // m), -(-w // m)
    b, a = (_TABLE_TEXT.format(size, cols, size - 1, cols - 1) for cols in (size, m))
    lines = [
        f"p0 = PLACEHOLDER [{n}, {h}, {w}, {inputs}]",
        f"data_pad(i0, i1, i2, i3) = if_then_else(((((i1 >= 1) && (i1 < {h + 1})) && (i2 >= 1)) && (i2 < {w + 1})), "
        "p0[i0, (i1 - 1), (i2 - 1), i3], 0f)",
        f"input_tile(eps, nu, p, ci) = data_pad[floordiv(p, {th * tw}), "
        f"((floormod(floordiv(p, {tw}), {th})*{m}) + eps), ((floormod(p, {tw})*{m}) + nu), ci]",
        f"B(i, j) = {b}",
        "data_pack(eps, nu, p, ci) += ((input_tile[r_a, r_b, p, ci]*B[r_a, eps])*B[r_b, nu])",
        f"p1 = PLACEHOLDER [{size}, {size}, {outputs}, {inputs}]",
        "bgemm(eps, nu, p, co) += (data_pack[eps, nu, p, ci]*p1[eps, nu, co, ci])",
        f"A(i, j) = {a}",
        "inverse(vh, vw, p, co) += ((bgemm[r_a, r_b, p, co]*A[r_a, vh])*A[r_b, vw])",
        f"conv2d_winograd(n, h, w, co) = inverse[floormod(h, {m}), floormod(w, {m}), "
        f"((((n*{th})*{tw}) + (floordiv(h, {m})*{tw})) + floordiv(w, {m})), co]",
        *tail,
    ]
    return "\n".join(lines)


def _tail(rest: Sequence[tuple[int, ...]], out: tuple[int, ...]) -> list[str] | None:
    """Stages of the other inputs; None for another list of them."""
    channel = (1, 1, 1, out[-1])
    residual, factors = rest[:1] == [out], rest[1 if rest[:1] == [out] else 0 :]
    if len(factors) > 2 or any(shape != channel for shape in factors):
        return None
    lines, last = [], "conv2d_winograd"
    operations = ["+"] * residual + ["*"] * (len(factors) == 2) + ["+"] * (len(factors) > 0)
    for number, (operation, shape) in enumerate(zip(operations, rest, strict=True), 2):
        read = "a, b, c, d" if shape == out else "a, 0, 0, d"
        lines.append(f"p{number} = PLACEHOLDER [{', '.join(map(str, shape))}]")
        lines.append(f"T_{number}(a, b, c, d) = ({last}[a, b, c, d] {operation} p{number}[{read}])")
        last = f"T_{number}"
    return [*lines, f"T_relu(a, b, c, d) = max({last}[a, b, c, d], 0f)"] if factors else lines

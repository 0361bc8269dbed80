"""Sums over the edges of a graph, or over a sparse matrix by rows: what reaches one row is the work of one thread.

Rows are sorted by a stable counting sort, so every sum goes over its edges in their order, whatever the threads.
"""

from __future__ import annotations

import math

from workbench.codegen.runtime_kernels.language import Array, Code, Number
from workbench.codegen.runtime_kernels.module import KernelEmitter
from workbench.ir.dtypes import itemsize

#: Parts that rows are cut into, each with about as many edges; many, because few rows may have most of the edges.
_PARTS = 256
#: Vectors of a row of the result that are summed in registers at a time.
_VECTORS = 8
#: Edges ahead of which rows are fetched, and bytes of a row up to which: longer ones keep memory busy by themselves.
_AHEAD, _SHORT = 16, 128


def edge_order(k: KernelEmitter) -> None:
    """Where the edges of each row begin, and the edges sorted by row; numbers outside leave their edge out.

    Every part of the edges is counted by itself, and placed behind what the parts before it have of a row. Owners of
    rows would have to look at all edges, and where each goes is not foreseen by a processor.
    """
    edges, rows = math.prod(k.shape("in0")), k.shape("out0")[0] - 1
    parts = max(1, min(k.target.threads, edges // rows))  # more would add up more counts than there are edges
    k.scratch("next", parts * rows, "int32", shared=True)

    def each(code: Code, part: Number, place: bool) -> None:
        places, found, order = code.array("in0"), code.array("next").at(part * rows), code.array("out1")
        if not place:
            with code.loop(rows) as row:
                found[row] = 0
        with code.loop((part + 1) * edges // parts, part * edges // parts) as e:
            row = _counted(places[e], rows)
            with code.when(row.bits("uint64") < code.number(rows).bits("uint64")):
                at = found[row]
                found[row] = at + 1
                if place:
                    order[at.to("int64")] = e.to("int32")

    def starts(code: Code) -> None:
        found, first, total = code.array("next"), code.array("out0"), code.variable(0, "int32")
        with code.loop(rows) as row:
            first[row] = total.now
            for part in range(parts):
                count = found[row + part * rows]
                found[row + part * rows] = total.now
                total.set(total.now + count)
        first[rows] = total.now
        with code.loop(edges, total.now.to("int64")) as e:  # edges that were left out
            code.array("out1")[e] = 0

    k.rows(parts, lambda code, part: each(code, part, place=False), edges * 4 // parts)
    k.once(starts)
    k.rows(parts, lambda code, part: each(code, part, place=True), edges * 4 // parts)


def _counted(number: Number, size: int) -> Number:
    """A number as it counts from the front."""
    at = number.to("int64")
    return (at < 0).select(at + size, at)


def sparse_product(k: KernelEmitter) -> None:
    """Rows of a sparse matrix times a dense one: columns of row r stand from ``first[r]`` to below ``first[r + 1]``."""
    known, width = k.shape("in0")[0], math.prod(k.shape("in0")[1:])
    rows, edges = k.shape("in1")[0] - 1, k.shape("in2")[0]
    parts = min(rows, _PARTS)

    def part(code: Code, number: Number) -> None:
        first = code.array("in1")
        end = first[rows].to("int64") + rows
        low, high = (_row_of(code, first, rows, end * p // parts) for p in (number, number + 1))
        with code.loop(high, low) as row:
            begin, stop = first[row].to("int64"), first[row + 1].to("int64")
            for start, lanes in _pieces(width, k.target.lanes(k.dtype("in0"))):
                _row(code, row * width + start, (begin, stop), (known, width, start, edges - 1), lanes)

    k.rows(parts, part, (edges + rows) * (width + 8) // parts)


def _row_of(code: Code, first: Array, rows: int, reached: Number) -> Number:
    """The first row before which there are so many edges and rows; counting both, long rows are parts of their own."""
    low, high = code.variable(0), code.variable(rows)
    with code.repeat(lambda: low.now < high.now):
        middle = (low.now + high.now) >> 1
        enough = first[middle].to("int64") + middle >= reached
        high.set(enough.select(middle, high.now))
        low.set(enough.select(low.now, middle + 1))
    return low.now


def _pieces(width: int, lanes: int) -> list[tuple[int, tuple[int, ...]]]:
    """A row in pieces that are summed at a time: where each begins, and the lanes of its vectors."""
    found: list[tuple[int, tuple[int, ...]]] = []
    start = 0
    while start < width:
        vectors: list[int] = []
        while len(vectors) < _VECTORS and (rest := width - start - sum(vectors)) > 0:
            vectors.append(min(lanes, 1 << (rest.bit_length() - 1)))
        found.append((start, tuple(vectors)))
        start += sum(vectors)
    return found


def _row(
    code: Code, to: Number, edges: tuple[Number, Number], where: tuple[int, int, int, int], lanes: tuple[int, ...]
) -> None:
    """Sum vectors that lie side by side over the edges of a row."""
    (x, out, columns), values = (code.array(name) for name in ("in0", "out0", "in2")), code.given("in3")
    known, width, start, last = where
    sums = [code.variable(0, x.dtype, n) for n in lanes]
    starts = [sum(lanes[:d]) for d in range(len(lanes))]

    def of_edge(e: Number) -> Array:
        at = _counted(columns[e], known).largest(0).smallest(known - 1)
        return x.at(at * width + start)

    with code.loop(edges[1], edges[0]) as e:
        if (nbytes := width * itemsize(x.dtype)) <= _SHORT:
            of_edge((e + _AHEAD).smallest(last)).fetch(nbytes)
        row = of_edge(e)
        for total, d, n in zip(sums, starts, lanes, strict=True):
            new = row.load(d, n)
            total.set(total.now + (new if values is None else values[e].spread(n) * new))
    for total, d in zip(sums, starts, strict=True):
        out.store(to + d, total.now)

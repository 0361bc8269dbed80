"""Where the nodes of a tree stand when it is drawn from left to right: whole columns and rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush

from workbench.errors import UsageError


def lay_out_tree(parents: Sequence[int | None]) -> tuple[tuple[int, int], ...]:
    """Place the nodes of a tree: the column is the depth, the row that of the branch.

    Parameters
    ----------
    parents : sequence of int or None
        Position of each node's parent; None for a root. Children are taken in the order of their positions.

    Returns
    -------
    tuple of (int, int)
        Column and row of each node. A first child stands in its parent's row; each other one begins a branch in the
        nearest row, below before above, that is free as far as the branch reaches. Rows may be negative, so that what
        stands does not move when a branch comes above it.

    Raises
    ------
    UsageError
        "usage.tree" when the parents make no tree.

    Examples
    --------
    >>> lay_out_tree([None, 0, 1, 0, 0])
    ((0, 0), (1, 0), (2, 0), (1, 1), (1, -1))
    """
    children, columns = _children(parents)
    places = [(0, 0)] * len(parents)
    taken: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    tried: dict[tuple[int, int], int] = {}
    heads = [k for k, up in enumerate(parents) if up is None]  # in order, so a heap
    while heads:
        head = heappop(heads)
        chain = [head]
        while children[chain[-1]]:
            chain.append(children[chain[-1]][0])
        up = parents[head]
        near = places[up][1] if up is not None else 0
        first, last = columns[head], columns[chain[-1]]
        at = (first, near)  # all branches that leave here look for a row in the same order
        for tries, row in _rows(near, tried.get(at, 0 if up is None else 1)):
            if all(end < first or last < begin for begin, end in taken[row]):
                tried[at] = tries
                break
        taken[row].append((first, last))
        for node in chain:
            places[node] = (columns[node], row)
            for branch in children[node][1:]:
                heappush(heads, branch)
    return tuple(places)


def _rows(near: int, tries: int) -> Iterator[tuple[int, int]]:
    """Rows around one, nearest first, below before above, with the number of each try."""
    while True:
        yield tries, near + (tries + 1) // 2 * (1 if tries % 2 else -1)
        tries += 1


def _children(parents: Sequence[int | None]) -> tuple[list[list[int]], list[int]]:
    """Children and depth of every node."""
    children: list[list[int]] = [[] for _ in parents]
    for k, up in enumerate(parents):
        if up is not None and not 0 <= up < len(parents):
            raise UsageError("usage.tree", f"Node {k} has a parent {up} that does not exist", (str(k),))
        if up is not None:
            children[up].append(k)
    columns = [-1] * len(parents)
    walk = [(k, 0) for k, up in enumerate(parents) if up is None]
    for k, depth in walk:
        columns[k] = depth
        walk += [(child, depth + 1) for child in children[k]]
    if -1 in columns:
        raise UsageError("usage.tree", "The parents go round in a circle", (str(columns.index(-1)),))
    return children, columns

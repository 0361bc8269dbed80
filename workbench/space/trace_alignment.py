"""Which step of one trace is which step of another: what a schedule says about the holes of a variant.

Two steps are alike when they are the same primitive with the same names; numbers and holes do not count.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any

Step = Mapping[str, Any]


class Trace:
    """A trace that is held against others: what is compared is worked out once.

    Parameters
    ----------
    steps : sequence of mapping
        As `Schedule.to_json` gives them, with numbers or with holes.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        self.steps = tuple(steps)

    @cached_property
    def texts(self) -> list[str]:
        """Each step without its numbers."""
        names = holes_of(self.steps)
        return [_token(s, names) for s in self.steps]

    @cached_property
    def axes(self) -> Counter[str]:
        """Primitives with the axes of their steps."""
        names = holes_of(self.steps)
        return Counter(_coarse(s, names) for s in self.steps)


def alike(trace: Trace, pattern: Trace) -> float:
    """How much two traces have in common, 0 to 1.

    Half of it is the share of steps that have a counterpart with the same names, half the share of those that do the
    same to the same axes, in however many parts and in whatever order.
    """
    a, b = trace.axes, pattern.axes
    common = 2 * (a & b).total() / max(1, a.total() + b.total())
    return (_matcher(trace, pattern).ratio() + common) / 2


def wanted(trace: Trace, pattern: Trace) -> dict[str, int]:
    """Numbers that a trace has where another one has holes.

    Parameters
    ----------
    trace : Trace
        With numbers.
    pattern : Trace
        With holes.

    Returns
    -------
    dict of str to int
        Hole -> number. Where no step is alike, a loop that both split gives its factors from both ends: the innermost
        one is the innermost, the outermost the outermost.
    """
    out: dict[str, int] = {}
    steps, open_ = trace.steps, pattern.steps
    for block in _matcher(trace, pattern).get_matching_blocks():
        for k in range(block.size):
            for hole, value in _pairs(open_[block.b + k].get("args"), steps[block.a + k].get("args")):
                out.setdefault(hole, value)
    splits = {s["args"].get("loop"): s["args"].get("factors") for s in reversed(steps) if _is_split(s)}
    for step in open_:
        if _is_split(step) and isinstance(factors := splits.get(step["args"]["loop"]), list | tuple):
            for hole, value in _folded(step["args"]["factors"], factors):
                out.setdefault(hole, value)
    return out


def unify(steps: Sequence[Step], pattern: Sequence[Step]) -> dict[str, int] | None:
    """Numbers of the holes with which a pattern is exactly the given trace; None where it is another schedule."""
    names, out = holes_of(pattern), dict[str, int]()

    def same(a: Any, b: Any) -> bool:
        name = a.get("hole") if isinstance(a, Mapping) else a if isinstance(a, str) and a in names else None
        if isinstance(name, str):
            return isinstance(b, int) and not isinstance(b, bool) and out.setdefault(name, b) == b
        if isinstance(a, Mapping):
            return isinstance(b, Mapping) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
        if isinstance(a, list | tuple):
            return isinstance(b, list | tuple) and len(a) == len(b) and all(map(same, a, b))
        return bool(a == b)

    return out if same(list(pattern), list(steps)) else None


def holes_of(pattern: Sequence[Step]) -> frozenset[str]:
    """Names of the holes that a trace opens."""
    return frozenset(name for step in pattern for name in _opened(step))


def _opened(node: Any) -> Iterator[str]:
    if isinstance(node, Mapping):
        if isinstance(name := node.get("hole"), str):
            yield name
        else:
            for child in node.values():
                yield from _opened(child)
    elif isinstance(node, list | tuple):
        for child in node:
            yield from _opened(child)


def _matcher(trace: Trace, pattern: Trace) -> SequenceMatcher[str]:
    return SequenceMatcher(None, trace.texts, pattern.texts, autojunk=False)


def _token(step: Step, names: frozenset[str]) -> str:
    """Text of a step without its numbers."""

    def plain(node: Any) -> Any:
        if node is None or isinstance(node, int | float) or (isinstance(node, str) and node in names):
            return "#"
        if isinstance(node, Mapping):
            return "#" if "hole" in node else {k: plain(v) for k, v in node.items()}
        return [plain(v) for v in node] if isinstance(node, list | tuple) else node

    return json.dumps(plain(step), sort_keys=True, default=str)


def _coarse(step: Step, holes: frozenset[str]) -> str:
    """Primitive and axes of a step: the names before the first dot."""

    def names(node: Any) -> Iterator[str]:
        if isinstance(node, str) and node not in holes:
            yield node.split(".")[0]
        elif isinstance(node, list | tuple):
            for child in node:
                yield from names(child)

    args = step.get("args")
    found = {n for child in args.values() for n in names(child)} if isinstance(args, Mapping) else set()
    return f"{step.get('primitive')} {sorted(found)}"


def _pairs(pattern: Any, given: Any) -> Iterator[tuple[str, int]]:
    """Holes of one step with the numbers that stand at their places in another one."""
    if isinstance(pattern, Mapping):
        name = pattern.get("hole")
        if isinstance(name, str):
            if isinstance(given, int) and not isinstance(given, bool):
                yield name, given
        elif isinstance(given, Mapping):
            for key, child in pattern.items():
                yield from _pairs(child, given.get(key))
    elif isinstance(pattern, list | tuple) and isinstance(given, list | tuple) and len(pattern) == len(given):
        for a, b in zip(pattern, given, strict=True):
            yield from _pairs(a, b)


def _is_split(step: Step) -> bool:
    args = step.get("args")
    return step.get("primitive") == "split" and isinstance(args, Mapping) and "loop" in args and "factors" in args


def _folded(pattern: Sequence[Any], factors: Sequence[Any]) -> Iterator[tuple[str, int]]:
    """Factors of a split for the holes of one with more or fewer parts."""
    if not isinstance(pattern, list | tuple) or len(pattern) < 2 or len(factors) < 2:
        return
    names = [part.get("hole") if isinstance(part, Mapping) else None for part in pattern]
    numbers = [f if isinstance(f, int) and not isinstance(f, bool) else None for f in factors]
    inner = min(len(names), len(numbers)) - 1
    for k in range(1, inner + 1):
        name, value = names[-k], numbers[-k]
        if isinstance(name, str) and value is not None:
            yield name, value
    for name in names[1 : len(names) - inner]:  # levels that the other one does not have
        if isinstance(name, str):
            yield name, 1
    if isinstance(names[0], str) and numbers[0] is not None:
        yield names[0], numbers[0]

"""A loop simulator of the auto-scheduler's steps, with an author of random ones: it runs iterators as Python loops and
notes which element of which stage is computed when. It knows nothing of schedules.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class It:
    """An iterator; `kind` is S or R."""

    extent: int
    kind: str


@dataclass(eq=False)
class Stage:
    """Extents of its axes, spatial ones first; `reads` says which elements of what one of its own needs."""

    name: str
    axes: list[int]
    spatial: int
    reads: dict[str, Callable[..., list[tuple[int, ...]]]] = field(default_factory=dict)
    iters: list[It] = field(default_factory=list)
    ops: list[tuple[Any, ...]] = field(default_factory=list)
    place: Any = "root"
    of: str = ""

    def __post_init__(self) -> None:
        self.roots = [It(n, "S" if k < self.spatial else "R") for k, n in enumerate(self.axes)] if self.reads else []
        self.iters = list(self.roots)
        self.of = self.of or self.name


class Program:
    """Stages, what is done to them, and the record's steps for it."""

    def __init__(self, stages: list[Stage]) -> None:
        self.stages, self.steps = stages, []

    def number(self, stage: Stage) -> int:
        return self.stages.index(stage)

    def split(self, s: Stage, it: It, lengths: list[int], like: int | None = None) -> None:
        parts = [It(-(-it.extent // math.prod(lengths)), it.kind), *(It(n, it.kind) for n in lengths)]
        at = s.iters.index(it)
        head = ["FSP", self.number(s), at, like, len(lengths)] if like is not None else None
        self.steps.append(head or ["SP", self.number(s), at, it.extent, lengths, 1])
        s.iters[at : at + 1] = parts
        s.ops.append(("split", it, parts, lengths))

    def fuse(self, s: Stage, at: int) -> None:
        a, b = s.iters[at : at + 2]
        whole = It(a.extent * b.extent, a.kind)
        self.steps.append(["FU", self.number(s), [at, at + 1]])
        s.iters[at : at + 2] = [whole]
        s.ops.append(("fuse", whole, [a, b]))

    def reorder(self, s: Stage, order: list[int]) -> None:
        self.steps.append(["RE", self.number(s), order])
        s.iters = [s.iters[k] for k in order]

    def compute_at(self, s: Stage, target: Stage, it: It) -> None:
        self.steps.append(["CA", self.number(s), self.number(target), target.iters.index(it)])
        s.place = (target, it)

    def inline(self, s: Stage) -> None:
        self.steps.append(["CI", self.number(s)])
        s.place = "inline"
        for reader in self.stages:
            if s.name in reader.reads:
                through = reader.reads.pop(s.name)
                for source, own in s.reads.items():
                    before = reader.reads.get(source, lambda *_: [])
                    reader.reads[source] = lambda *c, t=through, o=own, b=before: [
                        *b(*c),
                        *(x for y in t(*c) for x in o(*y)),
                    ]

    def cache_write(self, s: Stage) -> Stage:
        self.steps.append(["CHW", self.number(s), "local"])
        new = Stage(f"{s.name}.local", s.axes, s.spatial, s.reads, of=s.name)
        self.stages.insert(self.number(s), new)
        s.of, s.axes, s.reads = f"{s.name}.copy", s.axes[: s.spatial], {new.name: lambda *c: [c]}
        s.__post_init__()
        return new

    def cache_read(self, s: Stage, reader: Stage) -> Stage:
        self.steps.append(["CHR", self.number(s), "shared", [self.number(reader)]])
        new = Stage(f"{s.name}.shared", s.axes, len(s.axes), {s.name: lambda *c: [c]}, of=f"{s.name}.copy")
        self.stages.insert(self.number(s) + 1, new)
        reader.reads[new.name] = reader.reads.pop(s.name)
        return new

    # ----- running

    def events(self) -> list[tuple[Any, ...]]:
        """Elements in the order in which they are computed: name of the stage, then its axes."""
        return [
            e for s in self.stages if s.place == "root" and s.reads for e in self._run(s, [0] * len(s.axes), s.axes)
        ]

    def _run(self, s: Stage, base: list[int], axes: list[int]) -> Iterator[tuple[Any, ...]]:
        extents = self._extents(s, axes)
        yield from self._loops(s, base, axes, extents, {}, 0)

    def _extents(self, s: Stage, axes: list[int]) -> dict[It, int]:
        known = dict(zip(s.roots, axes, strict=True))
        for kind, it, parts, *lengths in s.ops:
            if kind == "fuse":
                known[it] = math.prod(known[p] for p in parts)
                continue
            rest = known[it]
            for part, size in zip(reversed(parts[1:]), reversed(lengths[0]), strict=True):
                known[part] = min(size, rest)
                rest = -(-rest // known[part])
            known[parts[0]] = rest
        return known

    def _loops(self, s, base, axes, extents, values, depth):  # type: ignore[no-untyped-def]
        if depth == len(s.iters):
            point = self._point(s, extents, values)
            element = [b + v for b, v in zip(base, point, strict=True)]
            inside = all(v < n for v, n in zip(point, axes, strict=True))
            # A padding asks for elements beyond the ends, which are not there.
            if inside and all(0 <= e < n for e, n in zip(element, s.axes, strict=True)):
                yield (s.of, *element)
            return
        it = s.iters[depth]
        for n in range(extents[it]):
            here = values | {it: n}
            for inner in self.stages:
                if inner.place == (s, it):
                    yield from self._run(inner, *self._part(s, inner, base, extents, here, depth))
            yield from self._loops(s, base, axes, extents, here, depth + 1)

    def _part(self, s, inner, base, extents, values, depth):  # type: ignore[no-untyped-def]
        """The box of `inner` that the iterators behind `depth` need."""
        rest = s.iters[depth + 1 :]
        found = set()
        for at in itertools.product(*(range(extents[i]) for i in rest)):
            point = self._point(s, extents, {**values, **dict(zip(rest, at, strict=True))})
            found |= set(s.reads[inner.name](*(b + v for b, v in zip(base, point, strict=True))))
        low = [min(x) for x in zip(*found, strict=True)]
        size = [max(x) - lo + 1 for x, lo in zip(zip(*found, strict=True), low, strict=True)]
        reduced = inner.axes[inner.spatial :]
        return [*low, *(0 for _ in reduced)], [*size, *reduced]

    def _point(self, s: Stage, extents: dict[It, int], values: dict[It, int]) -> list[int]:
        known = dict(values)
        for kind, it, parts, *_ in reversed(s.ops):
            if kind == "fuse":
                known[parts[0]], known[parts[1]] = divmod(known[it], extents[parts[1]])
            else:
                total = 0
                for part in parts:
                    total = total * extents[part] + known[part]
                known[it] = total
        return [known[r] for r in s.roots]


def _both(before, through, own):  # type: ignore[no-untyped-def]
    """What a reader needs of a source: what it needs itself, and what it needs by way of a stage that is inlined."""
    return lambda *c: [*(before(*c) if before else ()), *(x for y in through(*c) for x in own(*y))]


def _exact(op: tuple[Any, ...]) -> bool:
    kind, it, parts, *_ = op
    return kind == "fuse" or math.prod(p.extent for p in parts) == it.extent


class Author:
    """Random steps that are legal, last stage first, as the auto-scheduler works."""

    def __init__(self, program: Program, seed: int) -> None:
        self.program, self.rng = program, random.Random(seed)

    def write(self) -> list[list[Any]]:
        """Take steps; returns them as a record has them."""
        p, rng = self.program, self.rng
        for s in [s for s in reversed(p.stages) if s.reads]:
            readers = [r for r in p.stages if s.name in r.reads and r.place != "inline"]
            if readers and s.spatial == len(s.axes) and rng.random() < 0.3:
                p.inline(s)
                continue
            todo = [s]
            if len(s.axes) > s.spatial and rng.random() < 0.25 and all(r.place == "root" for r in readers):
                todo.append(p.cache_write(s))
            for stage in todo:
                self._place(stage)
                self._shape(stage)
        for s in [s for s in p.stages if not s.reads]:
            readers = [r for r in p.stages if s.name in r.reads and r.place != "inline"]
            if len(readers) == 1 and rng.random() < 0.4:
                new = p.cache_read(s, readers[0])
                self._place(new)
                self._shape(new)
        for s in p.stages:
            self._annotate(s)
        return p.steps

    def _place(self, s: Stage) -> None:
        readers = [r for r in self.program.stages if s.name in r.reads and r.place != "inline"]
        whole = [
            r
            for r in readers
            if all(op[0] == "fuse" or math.prod(o.extent for o in op[2]) == op[1].extent for op in r.ops)
        ]
        if len(readers) == len(whole) == 1 and self.rng.random() < 0.6:
            self.program.compute_at(s, readers[0], self.rng.choice(readers[0].iters))

    def _shape(self, s: Stage) -> None:
        p, rng = self.program, self.rng
        for _ in range(rng.randint(0, 3)):
            it = rng.choice(s.iters)
            if s.place != "root" and it not in s.roots[s.spatial :]:
                continue  # how long it is follows from its reader
            lengths = [
                rng.choice([n for n in range(1, it.extent + 1) if it.extent % n == 0]) for _ in range(rng.randint(1, 3))
            ]
            earlier = [k for k, step in enumerate(p.steps) if step[0] == "SP" and it.extent % math.prod(step[4]) == 0]
            if earlier and rng.random() < 0.4:
                like = rng.choice(earlier)
                count = rng.randint(1, len(p.steps[like][4]))
                kept = p.steps[like][4]
                p.split(s, it, [*kept[: count - 1], math.prod(kept[count - 1 :])], like)
            elif it.extent % math.prod(lengths) == 0:
                p.split(s, it, lengths)
        if rng.random() < 0.7:
            p.reorder(s, rng.sample(range(len(s.iters)), len(s.iters)))
        pairs = [k for k in range(len(s.iters) - 1) if s.iters[k].kind == s.iters[k + 1].kind]
        if pairs and rng.random() < 0.4:
            p.fuse(s, rng.choice(pairs))

    def _annotate(self, s: Stage) -> None:
        p, rng = self.program, self.rng
        holds = [q.place[1] for q in p.stages if isinstance(q.place, tuple) and q.place[0] is s]
        if not s.reads or s.place == "inline":
            return
        if s.place == "root" and s.iters[0].kind == "S" and rng.random() < 0.4:
            p.steps.append(["AN", p.number(s), 0, 3])
        if len(s.iters) > 1 and s.iters[-1].kind == "S" and s.iters[-1] not in holds and rng.random() < 0.4:
            p.steps.append(["AN", p.number(s), len(s.iters) - 1, 2])
        if rng.random() < 0.3:
            p.steps.append(["PR", p.number(s), 0, f"auto_unroll_max_step${rng.choice([0, 4, 16, 64])}"])

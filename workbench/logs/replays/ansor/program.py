"""What the steps of a record come to: stages with iterators that have an identity, so that positions are gone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NoReturn, TypeAlias

from workbench.ir import Func, blocks
from workbench.logs.replays.ansor.steps import Step
from workbench.logs.replays.result import CannotReplay

ANNOTATIONS = (
    "none", "unroll", "vectorize", "parallel", "vthread", "blockIdx.x", "threadIdx.x", "blockIdx.y", "threadIdx.y",
    "blockIdx.z", "threadIdx.z", "tensorize",
)  # fmt: skip
"""What the numbers of annotations mean (``IteratorAnnotation``)."""


@dataclass(eq=False, slots=True)
class Iterator:
    """An iterator of a stage. `loops` are those of the nest that it is now, once it is built."""

    label: str
    loops: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Split:
    """Cut an iterator; `lengths` as the record has them, from the inside where `inner` is set."""

    step: Step
    whole: Iterator
    parts: tuple[Iterator, ...]
    lengths: tuple[int, ...]
    inner: bool = True


@dataclass(frozen=True, slots=True)
class Fuse:
    """Put iterators together."""

    step: Step
    parts: tuple[Iterator, ...]
    whole: Iterator


@dataclass(frozen=True, slots=True)
class Reorder:
    """Put all iterators of a stage into an order."""

    step: Step
    order: tuple[Iterator, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """Say how an iterator is run; `what` is a text of `ANNOTATIONS`, a pragma or an alignment."""

    step: Step
    iterator: Iterator
    what: str
    numbers: tuple[int, ...] = ()


Action: TypeAlias = Split | Fuse | Reorder | Mark


@dataclass(eq=False, slots=True)
class Stage:
    """A stage: its iterators now, what is done to it, and where it is placed.

    `block` is the block of the nest that it is, "" for an input; `scope` is the memory of a cache.
    """

    name: str
    block: str = ""
    spatial: tuple[str, ...] = ()
    reduce: tuple[str, ...] = ()
    iterators: list[Iterator] = field(default_factory=list)
    roots: tuple[Iterator, ...] = ()
    actions: list[Action] = field(default_factory=list)
    place: Literal["root", "inline"] | tuple[Stage, Iterator] = "root"
    placed_by: Step | None = None
    scope: str = ""

    def start(self) -> None:
        """Begin with one iterator for each axis."""
        self.roots = tuple(Iterator(f"{self.name}.{axis}") for axis in (*self.spatial, *self.reduce))
        self.iterators = list(self.roots)


@dataclass(frozen=True, slots=True)
class Making:
    """A step that makes a stage, or takes one away.

    `stage` is what it is about, `new` the stage that it makes; `roots` and `before` are what an rfactor found:
    iterators of the axes, and what was done to them; `iterator` is what it names; `readers` are those of a cache.
    """

    step: Step
    kind: Literal["inline", "cache_write", "cache_read", "rfactor"]
    stage: Stage
    new: Stage | None = None
    roots: tuple[Iterator, ...] = ()
    before: tuple[Action, ...] = ()
    iterator: Iterator | None = None
    readers: tuple[Stage, ...] = ()


@dataclass(eq=False, slots=True)
class Program:
    """Stages in the order of the record at its end, and what made them; `words` says what each step does."""

    stages: list[Stage]
    makings: list[Making] = field(default_factory=list)
    words: dict[int, str] = field(default_factory=dict)


def stage_order(func: Func) -> list[str]:
    """Names of buffers in the order in which TVM counts stages: what a stage reads comes before it."""
    made = {b.buffer: b for b, _ in blocks(func.body)}
    order: list[str] = []

    def visit(name: str) -> None:
        if name in order:
            return
        for load in made[name].loads() if name in made else ():
            if load.buffer != name:
                visit(load.buffer)
        if name not in order:
            order.append(name)

    for buffer in func.buffers:
        if buffer.role == "output":
            visit(buffer.name)
    return order


def follow(func: Func, order: Sequence[str], steps: Sequence[Step]) -> Program:
    """Follow the steps of a record.

    Parameters
    ----------
    func : Func
        The computation, a block per buffer.
    order : sequence of str
        Names of the buffers in the order of the record's stages.
    steps : sequence of Step

    Raises
    ------
    CannotReplay
        Where a step names a stage, an iterator or a step that is not there, or another extent than the computation has.
    """
    made = {b.buffer: b for b, _ in blocks(func.body)}
    stages = []
    for name in order:
        block = made.get(name)
        stage = Stage(name, spatial=tuple(f"c{d}" for d in range(len(func.buffer(name).shape))))
        if block is not None:
            stage.block = block.name
            stage.spatial = tuple(it.name for it in block.iters if it.kind == "S")
            stage.reduce = tuple(it.name for it in block.iters if it.kind == "R")
            stage.start()
        stages.append(stage)
    extents = {
        root: it.extent
        for stage in stages
        if stage.block
        for root, it in zip(stage.roots, made[stage.name].iters, strict=True)
    }
    program = Program(stages)
    walk = _Following(program, steps, extents)
    for step in steps:
        program.words[step.number] = walk.take(step)
    return program


class _Following:
    """The state while steps are followed."""

    def __init__(self, program: Program, steps: Sequence[Step], extents: Mapping[Iterator, object]) -> None:
        self.program, self.steps, self.extents = program, steps, extents
        self.step = Step(-1, "", ())
        self._take: dict[str, Callable[[Stage, Step], str]] = {
            "SP": self._split, "FSP": self._follow_split, "FFSP": self._follow_fused, "FU": self._fuse,
            "RE": self._reorder, "AN": self._annotate, "PR": self._pragma, "CA": self._compute_at,
            "CI": self._inline, "CR": self._root, "CHR": self._cache_read, "CHW": self._cache_write,
            "RF": self._rfactor, "SA": self._align,
        }  # fmt: skip

    def take(self, step: Step) -> str:
        """Follow a step; returns what it does, in words."""
        self.step = step
        stage = self._stage(step.stage)
        if not stage.block and step.kind != "CHR":
            self._refuse(f"stage {step.stage} ({stage.name}) is an input")
        return self._take[step.kind](stage, step)

    def _refuse(self, why: str) -> NoReturn:
        raise CannotReplay(f"step {self.step.number} {self.step.text}: {why}")

    def _stage(self, number: int) -> Stage:
        if number >= len(self.program.stages):
            self._refuse(f"there are {len(self.program.stages)} stages, and none with the number {number}")
        return self.program.stages[number]

    def _iterator(self, stage: Stage, number: int) -> Iterator:
        if number >= len(stage.iterators):
            self._refuse(f"{stage.name} has {len(stage.iterators)} iterators, and none with the number {number}")
        return stage.iterators[number]

    def _source(self, number: int) -> tuple[int, ...]:
        """Lengths of an earlier split."""
        if number >= self.step.number or self.steps[number].kind != "SP":
            self._refuse(f"step {number} is no earlier split")
        return self._closed(self.steps[number].args[3])

    def _closed(self, lengths: Sequence[int | None]) -> tuple[int, ...]:
        found = tuple(n for n in lengths if n is not None)
        if len(found) < len(lengths):
            self._refuse("a length is open: the record is a sketch")
        return found

    def _cut(self, stage: Stage, number: int, lengths: tuple[int, ...], inner: bool) -> str:
        whole = self._iterator(stage, number)
        parts = tuple(Iterator(f"{whole.label}.{k}") for k in range(len(lengths) + 1))
        stage.iterators[number : number + 1] = parts
        self._move(whole, stage, parts[-1])
        stage.actions.append(Split(self.step, whole, parts, lengths, inner))
        sizes = ", ".join(map(str, lengths))
        return f"cut {whole.label} into {len(parts)}, {'the inner' if inner else 'the outer'} ones of {sizes}"

    def _move(self, old: Iterator, stage: Stage, new: Iterator) -> None:
        """What is placed inside an iterator is inside its innermost part, or of what it became a part of."""
        for other in self.program.stages:
            if isinstance(other.place, tuple) and other.place[1] is old:
                other.place = (stage, new)

    def _split(self, stage: Stage, step: Step) -> str:
        _, number, extent, lengths, inner = step.args
        known = self.extents.get(self._iterator(stage, number))
        if extent and known is not None and known != extent:
            whole = self._iterator(stage, number).label
            self._refuse(f"{whole} has the extent {known} in this computation, not {extent}")
        return self._cut(stage, number, self._closed(lengths), bool(inner))

    def _follow_split(self, stage: Stage, step: Step) -> str:
        _, number, source, count = step.args
        lengths = self._source(source)
        if not 0 < count <= len(lengths):
            self._refuse(f"step {source} has {len(lengths)} lengths, not {count}")
        kept = (*lengths[: count - 1], math.prod(lengths[count - 1 :]))
        return f"{self._cut(stage, number, kept, bool(self.steps[source].args[4]))}, like step {source}"

    def _follow_fused(self, stage: Stage, step: Step) -> str:
        _, number, sources, level, factor = step.args
        if not all(level < len(self._source(s)) for s in sources):
            self._refuse(f"not each of the steps {list(sources)} has a length of level {level}")
        size = math.prod(self._source(s)[level] for s in sources)
        listed = ", ".join(map(str, sources))
        return f"{self._cut(stage, number, (size,), bool(factor))}, as many as steps {listed} have at level {level}"

    def _fuse(self, stage: Stage, step: Step) -> str:
        numbers = step.args[1]
        if not numbers or list(numbers) != list(range(numbers[0], numbers[0] + len(numbers))):
            self._refuse("iterators that are fused have to follow each other")
        parts = tuple(self._iterator(stage, n) for n in numbers)
        whole = Iterator("@".join(p.label for p in parts)) if len(parts) > 1 else parts[0]
        stage.iterators[numbers[0] : numbers[0] + len(parts)] = [whole]
        for other in self.program.stages:
            if isinstance(other.place, tuple) and other.place[1] in parts[:-1]:
                self._refuse(f"{other.name} is placed inside one of the iterators")
        self._move(parts[-1], stage, whole)
        if len(parts) > 1:
            stage.actions.append(Fuse(step, parts, whole))
        return f"fuse {', '.join(p.label for p in parts)}"

    def _reorder(self, stage: Stage, step: Step) -> str:
        numbers = step.args[1]
        if sorted(numbers) != list(range(len(stage.iterators))):
            self._refuse(f"{stage.name} has {len(stage.iterators)} iterators, and the step is no order of all of them")
        stage.iterators = [stage.iterators[n] for n in numbers]
        stage.actions.append(Reorder(step, tuple(stage.iterators)))
        return f"order of {stage.name}: {', '.join(i.label.removeprefix(f'{stage.name}.') for i in stage.iterators)}"

    def _annotate(self, stage: Stage, step: Step) -> str:
        _, number, what = step.args
        iterator = self._iterator(stage, number)
        if what >= len(ANNOTATIONS) or ANNOTATIONS[what] in ("none", "tensorize"):
            self._refuse(f"an annotation {ANNOTATIONS[what] if what < len(ANNOTATIONS) else what} has no match here")
        stage.actions.append(Mark(step, iterator, ANNOTATIONS[what]))
        return f"{ANNOTATIONS[what]} {iterator.label}"

    def _pragma(self, stage: Stage, step: Step) -> str:
        _, number, pragma = step.args
        name, _, value = pragma.partition("$")
        if name != "auto_unroll_max_step" or not value.isdigit() or len(value) > 9:
            self._refuse("only the pragma auto_unroll_max_step has a match here")
        stage.actions.append(Mark(step, self._iterator(stage, number), name, (int(value),)))
        return f"unroll loops of {stage.name} up to {value} steps"

    def _align(self, stage: Stage, step: Step) -> str:
        _, number, factor, offset = step.args
        iterator = self._iterator(stage, number)
        stage.actions.append(Mark(step, iterator, "storage_align", (factor, offset)))
        return f"distance of {iterator.label} in memory: {offset} more than a multiple of {factor}"

    def _compute_at(self, stage: Stage, step: Step) -> str:
        target = self._stage(step.args[1])
        stage.place = (target, self._iterator(target, step.args[2]))
        stage.placed_by = step
        return f"compute {stage.name} at {stage.place[1].label}"

    def _root(self, stage: Stage, step: Step) -> str:
        stage.place, stage.placed_by = "root", step
        return f"compute {stage.name} in a nest of its own"

    def _inline(self, stage: Stage, step: Step) -> str:
        if any(isinstance(s.place, tuple) and s.place[0] is stage for s in self.program.stages):
            self._refuse(f"another stage is placed inside {stage.name}")
        stage.place, stage.placed_by = "inline", step
        self.program.makings.append(Making(step, "inline", stage))
        return f"compute {stage.name} where it is read"

    def _cache_write(self, stage: Stage, step: Step) -> str:
        if stage.actions:
            self._refuse(f"{stage.name} has been changed before its cache is made")
        # The stage that computes keeps the block; what is left copies from it.
        scope = step.args[1]
        new = Stage(f"{stage.name}.{scope}", stage.block, stage.spatial, stage.reduce, scope=scope)
        stage.reduce = ()
        new.start()
        stage.start()
        self.program.stages.insert(step.stage, new)
        self.program.makings.append(Making(step, "cache_write", stage, new))
        return f"{stage.name} is computed in {new.name} and copied from there"

    def _cache_read(self, stage: Stage, step: Step) -> str:
        _, scope, readers = step.args
        # Readers are counted before the new stage is there.
        found = tuple(self._stage(n) for n in readers)
        axes = stage.spatial
        new = Stage(f"{stage.name}.{scope}", "?", axes, scope=scope)
        self.program.stages.insert(step.stage + 1, new)
        new.start()
        self.program.makings.append(Making(step, "cache_read", stage, new, readers=found))
        return f"{', '.join(s.name for s in found)} reads a copy of {stage.name}: {new.name}"

    def _rfactor(self, stage: Stage, step: Step) -> str:
        _, number, place = step.args
        part = self._iterator(stage, number)
        new = Stage(f"{stage.name}.rf", "?")
        spatial, rest = list(stage.roots[: len(stage.spatial)]), stage.iterators
        kept = [i for i in rest if i is not part and i not in spatial]
        if not all(i in rest for i in spatial):
            self._refuse(f"axes of the result of {stage.name} have been cut before")
        new.iterators = [*spatial[:place], part, *spatial[place:], *kept]
        self.program.stages.insert(step.stage, new)
        new.roots = tuple(new.iterators)
        roots, before = stage.roots, tuple(stage.actions)
        stage.actions.clear()
        stage.reduce = (f"{part.label.rpartition('.')[0].rpartition('.')[2] or 'k'}.v",)
        stage.start()
        self.program.makings.append(Making(step, "rfactor", stage, new, roots, before, part))
        return f"{part.label} keeps results of its own, in {new.name}; {stage.name} reduces them"

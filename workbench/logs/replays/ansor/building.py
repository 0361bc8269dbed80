"""From what the steps of a record come to, to a schedule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from workbench.errors import ScheduleError
from workbench.ir import Func
from workbench.logs.replays.ansor.apart import part_ends, split_near
from workbench.logs.replays.ansor.llvm_loops import as_llvm_does, neighbours
from workbench.logs.replays.ansor.program import Fuse, Iterator, Making, Mark, Program, Reorder, Split, Stage
from workbench.logs.replays.ansor.steps import Step
from workbench.logs.replays.ansor.taken import Taken
from workbench.logs.replays.ansor.unrolling import loops_to_unroll
from workbench.logs.replays.ansor.weights import rewrite_layouts
from workbench.logs.replays.result import CannotReplay, ReplayStep
from workbench.schedule.primitives.split import Split as Cut
from workbench.schedule.schedule import Schedule
from workbench.schedule.size_limits import UNROLL_LIMIT
from workbench.target import Target

COOPERATION = (
    "not taken: threads that copy together, inside their own loop, have no match here, so each copies what it reads"
)
"""What is said of steps that share the work of a copy among threads."""

WEIGHTS, LLVM = -1, -2
"""Numbers for steps of the schedule that are for no step of the record."""

SERVED = ("vectorize", "parallel", "unroll")
"""Annotations that are primitives of the same name; the others are bindings."""


def build(
    func: Func, program: Program, steps: Sequence[Step], target: Target, rewrite: bool = False
) -> tuple[Schedule, list[ReplayStep]]:
    """Make a schedule.

    Parameters
    ----------
    func : Func
        The computation.
    program : Program
        What the steps come to on it (`program.follow`).
    steps : sequence of Step
    target : Target
    rewrite : bool
        Whether the weights were stored anew for the schedule when it was measured.

    Returns
    -------
    Schedule, list of ReplayStep

    Raises
    ------
    CannotReplay
        Where a step is not legal here, with the steps that were taken.
    """
    building = _Building(Schedule(func, target), program)
    try:
        building.make_stages()
        building.place()
        left = building.taken_by(WEIGHTS, lambda: rewrite_layouts(building.schedule)) if rewrite else []
        building.annotate()
        if not building.device:
            building.taken_by(LLVM, lambda: as_llvm_does(building.schedule))
    except CannotReplay as refused:
        raise CannotReplay(refused.reason, building.told(steps)) from None
    told = building.told(steps)
    if rewrite:
        words = "; ".join(["weights are stored as they are read, ahead of time", *left])
        told.append(ReplayStep(-1, "layout_rewrite_option 2", words, tuple(building.taken.get(WEIGHTS, ()))))
    if building.taken.get(LLVM):
        words = "what TVM leaves to LLVM: loops over neighbours as vectors, short loops written out"
        told.append(ReplayStep(-1, "LLVM", words, tuple(building.taken[LLVM])))
    return building.schedule, told


class _Building(Taken):
    """A schedule while it is built."""

    def __init__(self, schedule: Schedule, program: Program) -> None:
        super().__init__(schedule, program)
        self.marks: list[tuple[Stage, Mark]] = []
        for stage in program.stages:
            self._adopt(stage, stage.roots)

    # ----- stages that come and go

    def make_stages(self) -> None:
        """Take the steps that make or remove a stage, in the order of the record."""
        for making in self.program.makings:
            getattr(self, f"_make_{making.kind}")(making)

    def _make_inline(self, making: Making) -> None:
        if making.stage.place == "inline" and making.stage.block:
            self._do(making.step, "compute_inline", making.stage.block)
            making.stage.block = ""

    def _make_cache_write(self, making: Making) -> None:
        assert making.new is not None
        making.stage.block = self._do(making.step, "cache_write", making.new.block)
        self._adopt(making.stage, making.stage.roots)
        self._adopt(making.new, making.new.roots)

    def _make_cache_read(self, making: Making) -> None:
        assert making.new is not None
        readers = [s.block for s in making.readers if s.block]
        if len(readers) != 1:
            self._refuse(making.step, f"{len(readers)} stages read the copy; a copy has one reader here")
        source = self._block(making.stage)[0].buffer if making.stage.block else making.stage.name
        making.new.block = self._do(making.step, "cache_read", readers[0], source)
        self._adopt(making.new, making.new.roots)

    def _make_rfactor(self, making: Making) -> None:
        assert making.new is not None
        assert making.iterator is not None
        self._adopt(making.stage, making.roots)
        self._act(making.stage, making.before)
        loop = self._one_loop(making.iterator, making.step)
        if loop is None:
            self._refuse(making.step, "the part runs once, so there is nothing to keep apart")
        if len(making.iterator.loops) > 1:
            self._refuse(making.step, "the part is several loops")
        making.new.block = self._do(making.step, "rfactor", loop)
        self._adopt(making.stage, making.stage.roots)
        self._reorder(making.new, making.step, making.new.roots)

    # ----- places, cuts and orders

    def place(self) -> None:
        """Place the stages, readers first, and cut and order the loops of each."""
        for stage in reversed(self.program.stages):
            if not stage.block:
                continue
            if isinstance(stage.place, tuple):
                self._compute_at(stage, *stage.place)
            self._act(stage, stage.actions)

    def _compute_at(self, stage: Stage, target: Stage, at: Iterator) -> None:
        step = stage.placed_by
        assert step is not None
        if at not in target.iterators or not target.block:
            self._refuse(step, f"the iterator of {target.name} is not there at the end")
        loop = self._loop_at(target, at)
        if loop is None:
            self._remark(step, "all loops around it run once, so it stays where it is")
            return
        block, _ = self._block(stage)
        by_loop = {i.loops[0]: i for i in stage.roots if len(i.loops) == 1}
        iterators = [by_loop.get(str(bind.single_var())) for bind in block.binds]
        names = self._do(step, "compute_at", stage.block, loop)
        for iterator, name in zip(iterators, names, strict=True):
            if iterator is not None:
                iterator.loops = (name,)

    def _loop_at(self, target: Stage, at: Iterator) -> str | None:
        """The loop of an iterator, or the next one around it; those of a stage that is placed are around it, too."""
        loops = [n for i in target.iterators[: target.iterators.index(at) + 1] for n in i.loops]
        if loops:
            return loops[-1]
        return self._loop_at(*target.place) if isinstance(target.place, tuple) else None

    def _act(self, stage: Stage, actions: Sequence[Any]) -> None:
        for action in actions:
            match action:
                case Split():
                    self._split(stage, action)
                case Fuse(_, parts, whole):
                    whole.loops = tuple(n for p in parts for n in p.loops)
                case Reorder(step, order):
                    self._reorder(stage, step, order)
                case Mark():
                    self._claim(stage, action)

    def _split(self, stage: Stage, action: Split) -> None:
        extent = math.prod(self._extent(n) for n in action.whole.loops)
        sizes = part_sizes(extent, action.lengths, action.inner)
        many = [(part, size) for part, size in zip(action.parts, sizes, strict=True) if size > 1]
        if not action.whole.loops:
            return
        if self._together(stage, action.step):
            action.parts[0].loops = action.whole.loops
            return
        if len(many) < 2:
            # Parts that run once have no loop of their own: the loop stands for the part that has all of it.
            (many[0][0] if many else action.parts[0]).loops = action.whole.loops
            self._remark(action.step, "one part has all iterations, so nothing is cut")
            return
        loop = self._one_loop(action.whole, action.step)
        if self.device and self._cut_near(stage, action):
            return
        tail = () if math.prod(sizes) == extent else ("guard",)
        names = self._do(action.step, "split", loop, [size for _, size in many], *tail)
        for (part, _), name in zip(many, names, strict=True):
            part.loops = (name,)

    def _cut_near(self, stage: Stage, action: Split) -> bool:
        """Cut where parts of an index end, if the number that the record has cuts through one of them."""
        *outer, last = action.whole.loops
        ends = self._part_ends(stage, last)
        size, extent = action.lengths[-1], self._extent(last)
        fits = not outer and all(size % end == 0 or end % size == 0 for end in ends)
        if fits and not self._cuts_through(last, [extent // size, size]):
            return False
        if len(action.lengths) != 1 or not action.inner:
            self._refuse(action.step, "an index has parts that end elsewhere")
        found = self.taken_by(action.step.number, lambda: split_near(self.schedule, last, size, ends))
        action.parts[0].loops, action.parts[1].loops = (*outer, *found[:-1]), found[-1:]
        if (inner := self._extent(found[-1])) != size:
            self._remark(action.step, f"{inner} in the place of {size}, because an index has parts that end there")
        return True

    def _cuts_through(self, loop: str, sizes: Sequence[int]) -> bool:
        try:
            Cut(loop, tuple(sizes)).check(self.schedule.func, self.schedule.target)
        except ScheduleError as error:
            return error.code == "split.digit"
        return False

    def _part_ends(self, stage: Stage, loop: str) -> frozenset[int]:
        """Where parts end that stages have which are placed inside this one."""
        stages = [s for s in self.program.stages if isinstance(s.place, tuple) and s.place[0] is stage]
        return part_ends(self.schedule.func, stage.block, loop, [s.block for s in stages if s.block])

    def _together(self, stage: Stage, step: Step) -> bool:
        """Whether a step shares the work of a copy in shared memory among threads, while here each copies its part."""
        if stage.scope != "shared" or not self.device:
            return False
        self._remark(step, COOPERATION)
        return True

    def _reorder(self, stage: Stage, step: Step, order: Sequence[Iterator]) -> None:
        wanted = [n for i in order for n in i.loops]
        _, path = self._block(stage)
        now = [lp.name for lp in path if lp.name in wanted]
        if now != wanted:
            self._do(step, "reorder", *wanted)

    def _claim(self, stage: Stage, mark: Mark) -> None:
        """Marks come last: a marked loop is cut no more."""
        self.marks.append((stage, mark))
        if mark.what not in ("parallel", "unroll", "auto_unroll_max_step") and not self._together(stage, mark.step):
            self._one_loop(mark.iterator, mark.step)

    # ----- how loops are run

    def annotate(self) -> None:
        """Mark loops, in the order of the record, and unroll last."""
        order = sorted(self.marks, key=lambda found: (found[1].what == "auto_unroll_max_step", found[1].step.number))
        for stage, mark in order:
            self._mark(stage, mark)
        for making in self.program.makings:
            if making.new is not None and making.new.scope and making.new.block and self.device:
                self._set_scope(making.step, making.new)

    def _set_scope(self, step: Step, stage: Stage) -> None:
        buffer = self._block(stage)[0].buffer
        try:
            self.schedule.set_scope(buffer, stage.scope)
        except ScheduleError as error:
            self._remark(step, f"{buffer} is not in {stage.scope} memory: {error.message}")
            return
        self.taken.setdefault(step.number, []).append(self.schedule.trace[-1])

    def _mark(self, stage: Stage, mark: Mark) -> None:
        loops = mark.iterator.loops
        if mark.what == "auto_unroll_max_step":
            self._unroll(stage, mark)
        elif mark.what == "storage_align":
            dim = stage.roots.index(mark.iterator) if mark.iterator in stage.roots else 0
            self._do(mark.step, "storage_align", self._block(stage)[0].buffer, dim, *mark.numbers)
        elif self._together(stage, mark.step):
            pass
        elif not loops:
            self._remark(mark.step, "it runs once")
        elif mark.what == "parallel":
            self._do(mark.step, "parallel", *loops)
        elif mark.what in SERVED:
            self._innermost(stage, mark)
            self._serve(mark, mark.what, *loops)
        else:
            self._bind(stage, mark)

    def _innermost(self, stage: Stage, mark: Mark) -> None:
        """A vector has no loops inside, not even such that run once."""
        names = [lp.name for lp in self._block(stage)[1]]
        inside = names[names.index(mark.iterator.loops[-1]) + 1 :]
        if mark.what == "vectorize" and inside and all(self._extent(n) == 1 for n in inside):
            self._do(mark.step, "reorder", *inside, *mark.iterator.loops)

    def _serve(self, mark: Mark, what: str, *loops: str) -> None:
        """Run loops as vectors or unrolled; what is too long to be written out stays a loop."""
        for name in loops:
            try:
                self._do(mark.step, what, name)
            except CannotReplay as refused:
                if "[unroll.limit]" not in refused.reason:
                    raise
                self._remark(mark.step, f"{name} stays a loop: more than {UNROLL_LIMIT} copies in all")

    def _bind(self, stage: Stage, mark: Mark) -> None:
        """Bind the loop; one that reduces stays as it is, because threads do not add up together here."""
        reduces = self._block(stage)[0].driving("R")
        if any(loop in reduces for loop in mark.iterator.loops):
            self._remark(mark.step, "not taken: threads that reduce together have no match here, so one reduces")
            return
        first, dot, dimension = mark.what.partition(".")
        dimensions = [f"{first}.{d}" for d in "xyz"["xyz".index(dimension) :]] if dot else [mark.what] * 9
        if len(mark.iterator.loops) > len(dimensions):
            self._refuse(mark.step, f"{len(mark.iterator.loops)} loops stay apart, and there are 3 dimensions")
        for loop, where in zip(mark.iterator.loops, reversed(dimensions[: len(mark.iterator.loops)]), strict=True):
            self._do(mark.step, "bind", loop, where)

    def _unroll(self, stage: Stage, mark: Mark) -> None:
        most = min(mark.numbers[0], UNROLL_LIMIT)
        if most < mark.numbers[0]:
            self._remark(mark.step, f"up to {most} here")
        for k, name in enumerate(loops_to_unroll(self.schedule.func, stage.block, most)):
            if k == 0 and neighbours(self.schedule, stage.block, name):
                self._do(mark.step, "vectorize", name)
                self._remark(mark.step, f"{name} as a vector, which TVM leaves to LLVM for straight-line code")
            else:
                self._serve(mark, "unroll", name)


def part_sizes(extent: int, lengths: Sequence[int], inner: bool) -> list[int]:
    """Extents of the parts of a loop, outermost first, as TVM's bound inference gives them.

    A length is the size of a part, of the innermost first where `inner` is set, else the number of parts from the
    outside. A part is no longer than what is left, so a stage that is placed has shorter parts than its lengths say.
    """
    rest, found = extent, []
    for length in reversed(lengths) if inner else lengths:
        found.append(min(length, rest))
        rest = -(-rest // found[-1])
    return [rest, *reversed(found)] if inner else [*found, rest]

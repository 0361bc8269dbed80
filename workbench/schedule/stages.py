"""Schedules in the words of TVM's tensor expressions: ``s[C].split(axis, factor=8)``.

A stage is a block of the nest, an axis the name of a loop (or what `te.reduce_axis` has made). Every step is one of the
primitives of `Schedule`, which a `StagedSchedule` is too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.arguments import ArgumentTypeError, elements, shown
from workbench.ir.stmt import IterKind
from workbench.schedule.schedule import Schedule
from workbench.te import Axis, Tensor, func

#: The class whose methods the registry of primitives adds.
_PLAIN: Any = Schedule


class LoopName(str):
    """Name of a loop that knows its schedule."""

    schedule: Schedule


class StagedSchedule(Schedule):
    """A schedule whose stages are asked for by tensors; `te.create_schedule` makes one."""

    @classmethod
    def of(cls, outputs: Tensor | Sequence[Tensor], target: Any = None) -> StagedSchedule:
        """Schedule of everything that tensors depend on."""
        return cls(func(outputs), target)

    def __getitem__(self, what: Tensor | Stage | str) -> Stage:
        """Stage of a tensor: what writes it, which is a copy after `cache_write`."""
        if isinstance(what, Stage):
            return what
        name = getattr(what, "name", what)
        if not isinstance(name, str):
            text = f"A stage is asked for by a tensor, not by {shown(what)}"
            raise ArgumentTypeError("usage.type", text, ("stage",), "s[C]")
        writers = [b.name for b in self.blocks if b.buffer == name]
        return Stage(self, writers[-1] if writers else self.func.block(name)[0].name)

    def cache_write(self, block: Any, scope: str = "") -> Any:
        """Let a stage write into a tensor of its own first; of a tensor, the stage that computes comes back."""
        if not isinstance(block, Tensor | Stage):
            return _PLAIN.cache_write(self, block)
        name = self[block].name
        _PLAIN.cache_write(self, name)
        return Stage(self, name)

    def cache_read(self, block: Any, scope: str = "", readers: Any = ()) -> Any:
        """Copy a tensor, and let readers read the copy: ``s.cache_read(A, "global", [C])``."""
        if not isinstance(block, Tensor):
            return _PLAIN.cache_read(self, block, scope)
        found = elements(readers) or (readers,)
        if len(found) != 1:
            text = f"A copy has one reader; {len(found)} were given"
            raise ArgumentTypeError("usage.type", text, ("readers",), "call cache_read once for each reader")
        return Stage(self, _PLAIN.cache_read(self, self[found[0]].name, block.name))

    def rfactor(self, loop: Any, axis: Any = 0, dim: int = 0) -> Any:
        """Reduce in two steps; of a tensor and its axis, the stage that reduces first comes back."""
        if not isinstance(loop, Tensor | Stage):
            return _PLAIN.rfactor(self, loop, axis or dim)
        return Stage(self, _PLAIN.rfactor(self, self[loop]._at(axis), dim))


class Stage:
    """One stage of a schedule.

    Attributes
    ----------
    schedule : StagedSchedule
    name : str
        Of the block.
    """

    def __init__(self, schedule: StagedSchedule, name: str) -> None:
        self.schedule, self.name = schedule, name

    @property
    def op(self) -> Stage:
        """The stage itself, which stands for its operation."""
        return self

    @property
    def axis(self) -> tuple[str, ...]:
        """Loops of the result's dimensions; of one that was cut, the innermost part."""
        return self._loops("S")

    @property
    def reduce_axis(self) -> tuple[str, ...]:
        """Loops that are reduced over."""
        return self._loops("R")

    def _loops(self, kind: IterKind) -> tuple[str, ...]:
        block, path = self.schedule.func.block(self.name)
        bound = zip(block.iters, block.binds, strict=True)
        driven = [{d.var for d, _ in bind.terms} for it, bind in bound if it.kind == kind]
        found = [next(LoopName(lp.name) for lp in reversed(path) if lp.name in names) for names in driven if names]
        for name in found:
            name.schedule = self.schedule
        return tuple(found)

    def _at(self, axis: str | Axis) -> str:
        """Name of the loop that an axis has become: that of its own name, or with the stage's in front."""
        name = str(axis.form.single_var()) if isinstance(axis, Axis) else axis
        inside = {lp.name for lp in self.schedule.func.block(self.name)[1]}
        prefixed = f"{self.name}_{name}"
        return prefixed if name not in inside and prefixed in inside else name

    def split(self, parent: str | Axis, factor: Any = None, nparts: Any = None) -> tuple[str, str]:
        """Cut a loop in two, by the length of the inner or by that of the outer one."""
        parent = self._at(parent)
        extent = self.schedule.func.loop(parent)[0].extent
        known = factor if factor is not None else nparts
        uneven = isinstance(known, int) and isinstance(extent, int) and extent % known
        if uneven and factor is None:
            factor, nparts = -(-extent // known), None
        outer, inner = self.schedule.split(parent, [nparts, factor], **({"tail": "guard"} if uneven else {}))
        return outer, inner

    def tile(self, x: str | Axis, y: str | Axis, x_factor: Any, y_factor: Any) -> tuple[str, str, str, str]:
        """Cut two loops, and put the inner parts inside: outer x, outer y, inner x, inner y."""
        (xo, xi), (yo, yi) = self.split(x, x_factor), self.split(y, y_factor)
        self.reorder(xo, yo, xi, yi)
        return xo, yo, xi, yi

    def fuse(self, *loops: str | Axis) -> str:
        """Make one loop of several that lie directly inside each other."""
        names = [self._at(x) for x in loops]
        return names[0] if len(names) < 2 else str(self.schedule.fuse(*names))

    def reorder(self, *loops: str | Axis) -> None:
        """Put loops into this order, outermost first."""
        names = [self._at(x) for x in loops]
        if names != [lp.name for lp in self.schedule.loops if lp.name in names]:
            self.schedule.reorder(*names)

    def parallel(self, loop: str | Axis) -> None:
        """Run a loop on several cores."""
        self.schedule.parallel(self._at(loop))

    def vectorize(self, loop: str | Axis) -> None:
        """Run a loop with vector instructions."""
        self.schedule.vectorize(self._at(loop))

    def unroll(self, loop: str | Axis) -> None:
        """Write the iterations of a loop out."""
        self.schedule.unroll(self._at(loop))

    def bind(self, loop: str | Axis, thread: str) -> None:
        """Say what of a device runs a loop."""
        self.schedule.bind(self._at(loop), thread)

    def tensorize(self, loop: str | Axis, intrin: str) -> None:
        """Hand a loop and what is inside to an instruction."""
        self.schedule.tensorize(self._at(loop), intrin)

    def pragma(self, loop: str | Axis, key: str, value: int = 1) -> None:
        """Remark something about a loop."""
        self.schedule.annotate(self._at(loop), key, value)

    def compute_at(self, stage: Stage, loop: str | Axis) -> None:
        """Compute inside a loop of another stage, just what is needed there."""
        self.schedule.compute_at(self.name, stage._at(loop))

    def compute_inline(self) -> None:
        """Compute every element where it is read."""
        self.schedule.compute_inline(self.name)

    def compute_root(self) -> None:
        """Leave it where it is: every stage has a nest of its own until it is moved."""

    def __repr__(self) -> str:
        return f"<stage {self.name}: {', '.join((*self.axis, *self.reduce_axis))}>"

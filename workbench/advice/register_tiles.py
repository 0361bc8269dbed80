"""Tiles of results that stay in registers, with the sizes that the estimate likes best: several steps, offered as one.

No single one of these steps gains what all of them do: a part of a loop inside of a sum is slow until it is unrolled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.advice.proposals import Place
from workbench.cooperative_yield import pause
from workbench.errors import ScheduleError
from workbench.ir import Constraint, For
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.schedule.holes import Hole
from workbench.space.default_schedule import favourite
from workbench.space.shared_steps import register_tiles
from workbench.space.shared_steps.block_queries import axis_of, lane_axis, suited
from workbench.space.variant import Variant
from workbench.target import Target

#: Loops beside that of the lanes that take part in a tile: the innermost ones. Chosen, not measured; `bench_advice`
#: tells what comes of it.
ROWS = 2


def tile(s: Schedule, block: str, target: Target) -> str:
    """Tile a statement's serial loops over results as the estimate likes best; say which, by what.

    Raises
    ------
    ScheduleError
        "legality" of a step, or "tile.none" where nothing is left to tile.
    """
    plan, trial = _Plan.of(s, block, target), s.copy()
    parts = plan.take(trial, None)
    func, machine = trial.func, plan.machine
    out = [lp.name for lp in plan.at.path if lp.kind == "unroll" and lp.name in plan.at.spatial]
    tiled = [*out, *(parts[name] for name in plan.rows), parts.get(plan.lane, plan.lane)]
    limits = [Constraint(label, e) for label, e, _ in register_tiles.tile_limits(func, tiled, machine, 1)]
    pause()
    best = favourite(Variant(0, trial, machine, limits=tuple(c for c in limits if not isinstance(c.expr, int))))
    if best is None:
        raise ScheduleError("tile.none", f"No tile of {block} fits the registers.", (block,))
    pause()
    sizes = {name: int(best.func.loop(part)[0].extent) for name, part in parts.items()}  # type: ignore[arg-type]
    plan.take(s, sizes)
    told = {name: n for name, n in sizes.items() if n > 1}
    if not told:
        raise ScheduleError("tile.none", f"{block} is not worth a tile.", (block,))
    return f"tile {', '.join(told)} by {' × '.join(map(str, told.values()))}"


def tile_longer(s: Schedule, block: str, target: Target) -> str:
    """Tile a statement whose loops are made longer before, so that tiles divide them well."""
    at = Place(s.func, block, target)
    found, machine = at.block, suited(Machine.of(target), s.func, at.block)
    loops = [lp for lp in reversed(at.free) if isinstance(lp.extent, int)]
    lane = lane_axis(found)
    last = next((lp for lp in loops if axis_of(found, lp.name) == lane), None)
    if last is None:
        raise ScheduleError("tile.none", f"The lanes of {block} are laid out already.", (block,))
    before = next((lp.name for lp in reversed(loops) if lp is not last), None)
    longer = register_tiles.longer(s.func, before, last.name, machine)
    if not longer:
        raise ScheduleError("tile.none", f"Tiles divide the loops of {block} as they are.", (block,))
    register_tiles.lengthen(s, block, longer, register_tiles.to_copy(s.func, found, lane, last.name in longer))
    return f"pad {', '.join(f'{name} to {n:,}' for name, n in longer.items())}, {tile(s, block, target)}"


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which loops a tile is made of.

    Attributes
    ----------
    lane : str
        The loop of which a part becomes vectors, or that runs as vectors already; "" for none.
    rows : tuple of str
        Other loops of which a part is unrolled.
    done : bool
        Whether the lanes are vectors already.
    """

    at: Place
    machine: Machine
    lane: str
    rows: tuple[str, ...]
    done: bool

    @classmethod
    def of(cls, s: Schedule, block: str, target: Target) -> _Plan:
        at = Place(s.func, block, target)
        machine = suited(Machine.of(target), s.func, at.block)
        vector = next((lp.name for lp in at.path if lp.kind == "vectorize"), "")
        axis = lane_axis(at.block)
        lane = vector or next((lp.name for lp in at.free if axis_of(at.block, lp.name) == axis), "")
        rows = [lp.name for lp in at.free if lp.name != lane and isinstance(lp.extent, int)][:ROWS]
        if not lane or (vector and not rows):
            raise ScheduleError("tile.none", f"No loop of {block} is left to tile.", (block,))
        return cls(at, machine, lane, tuple(reversed(rows)), bool(vector))

    def take(self, s: Schedule, sizes: Mapping[str, int] | None) -> dict[str, str]:
        """Take the steps with these sizes, or with open ones; return the part of each loop that is in the tile."""
        outer: list[str] = []
        parts: dict[str, str] = {}
        for lp in self.at.serial:
            if lp.name not in (*self.rows, self.lane):
                outer += [lp.name] if lp.name not in self.at.sums else []
                continue
            size = None if sizes is None else sizes[lp.name]
            if size == 1:
                outer.append(lp.name)
            elif size == lp.extent:
                parts[lp.name] = lp.name
            else:
                around, parts[lp.name] = s.split(lp.name, [None, self._open(lp) if size is None else size])
                outer.append(around)
        inner = [parts[name] for name in self.rows if name in parts]
        vector = self.lane if self.done else parts.get(self.lane, "")
        order = (*outer, *self.at.sums, *inner, *([vector] if vector else []))
        if list(order) != [
            lp.name for lp in Place(s.func, self.at.block.name, self.at.target).path if lp.name in order
        ]:
            s.reorder(*order)
        for name in inner:
            s.unroll(name)
        if vector and not self.done:
            s.vectorize(vector)
        return parts

    def _open(self, lp: For) -> Hole:
        assert isinstance(lp.extent, int)
        return Hole(choices=register_tiles.vector_choices(lp.extent, self.machine)) if lp.name == self.lane else Hole()

"""Why a schedule takes as long as the model of the machine says: what bounds it, in words, and what would change that.

Every number is one of the estimate's own parts (`workbench.machine_model.cycle_estimate`); nothing is measured, nothing
is guessed. What would change it was tried on a copy (`workbench.advice.estimated_speedup`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from workbench.advice.device_bottlenecks import device_reasons
from workbench.advice.estimated_speedup import SpeedupTrial
from workbench.advice.offer import Offer
from workbench.analysis.loop_nest.memory_accesses import AccessRow, accesses
from workbench.analysis.loop_nest.schedule_estimate import evaluated, whole_cycles
from workbench.codegen.lowering import task_limit
from workbench.exercise_mode import need
from workbench.ir import blocks
from workbench.machine_model.block_counts import STRAIGHT, BlockFacts
from workbench.machine_model.cache_traffic import LEVELS
from workbench.machine_model.constants import Caches
from workbench.machine_model.cycle_estimate import Cycles, body_parts, fitted_for, waiting
from workbench.machine_model.machine_parameters import Machine
from workbench.machine_model.nest_summary import LoopPlan
from workbench.safe_text import shown_legibly
from workbench.schedule import Schedule
from workbench.target import Target

STAGE = "stage"
"""Code of the reason that another statement than the main one takes time."""

_DOING = {"compute": "computing", "memory": "waiting for memory", "launch": "starting tasks"}
#: Share of the time from which on a part is told in the headline. Chosen by eye.
_TOLD = 0.1
#: Sets of the first cache in which so few lines fit that it is worth saying. Chosen, not measured.
_FEW = 8

#: Reasons that are given. Chosen by eye.
MOST = 4

#: Statements beside the main one that are named. Chosen by eye.
STAGES = 2

#: Share of the whole time from which on one is: what is fused often takes the next stage along. Chosen, not measured;
#: `bench_advice` tells what comes of it.
LEAST_STAGE = 0.04

#: Share of the statement's time that a reason has to explain. Chosen, not measured; `bench_advice` tells what comes of
#: it.
LEAST = 0.08


@dataclass(frozen=True, slots=True)
class Reason:
    """Something that takes time, and the steps that change it.

    Attributes
    ----------
    code : str
        ``scalar``, ``serial``, ``latency``, ``reload``, ``gather``, ``loads``, ``spill``, ``overhead``, ``guards``,
        ``stride``, ``cache``, ``tasks``, ``balance`` or ``stage`` (another statement); of a device ``threads``,
        ``grid``, ``occupancy``, ``coalescing``, ``banks``, ``waits`` (see `advice.device_bottlenecks`).
    says : str
        The same in words.
    row : str
        Loop (or statement, ``stmt:BLOCK``) that it is about; "" for none.
    part : float
        Share of the statement's estimated time that it takes, of the whole time for ``stage``; reasons overlap.
    cure : Offer or None
        Legal steps that make the schedule faster by the estimate; None where none was found, or none was looked for.
    """

    code: str
    says: str
    row: str
    part: float
    cure: Offer | None = None

    @property
    def id(self) -> str:
        """What no other reason of the same answer is called."""
        return f"{self.code} {self.row.removeprefix('stmt:')}" if self.code == STAGE else self.code


@dataclass(frozen=True, slots=True)
class Why:
    """What bounds a schedule, by the estimate.

    Attributes
    ----------
    block : str
        The statement that takes most of the time.
    share : mapping of str to float
        Parts of the estimate: ``compute`` and ``memory`` of that statement, ``launch`` (starting parallel tasks), and
        ``others``, the other statements.
    reasons : tuple of Reason
        What takes the time, most of it first; none where multiply-adds alone do.
    """

    block: str
    share: Mapping[str, float]
    reasons: tuple[Reason, ...]

    @property
    def bound(self) -> str:
        """What takes the largest part of the time: ``compute``, ``memory`` or ``launch``."""
        return max(_DOING, key=lambda name: self.share[name])

    @property
    def headline(self) -> str:
        """Where the time goes, as a sentence."""
        return f"Estimated: {self._told}"

    @property
    def _told(self) -> str:
        parts = sorted(((self.share[name], doing) for name, doing in _DOING.items()), reverse=True)
        told = ", ".join(f"{_percent(part)} {doing}" for part, doing in parts if part >= _TOLD)
        where = f" (of {self.block})" if self.share["others"] >= _TOLD else ""
        return f"{told}{where}" + ("." if self.reasons else "; nothing else stands out.")

    @shown_legibly
    def __str__(self) -> str:
        lines = [f"  {one.says}" + (f"  [{one.cure}]" if one.cure else "") for one in self.reasons]
        return "\n".join([self.headline, *lines])

    def to_json(self) -> dict[str, Any]:
        """Return what a front end shows."""
        return {"text": self._told, "rows": [{"id": r.id, "says": r.says} for r in self.reasons]}


def why(schedule: Schedule, target: Target | None = None, *, cures: bool = True, constants: str = "near") -> Why | None:
    """Say what bounds a schedule, by the model of the machine that the estimate comes from.

    Parameters
    ----------
    schedule : Schedule
    target : Target, optional
        That of the schedule, else this machine.
    cures : bool
        Look for what would make it faster, too: some 50 ms rather than one.
    constants : {"near", "shared", "memory"}
        Where a call finds its constants, as for `MeasureOptions`.

    Returns
    -------
    Why or None
        None while numbers are open: the answer depends on them.

    Raises
    ------
    UsageError
        "lab.mode" where an open lab keeps advice off.

    Examples
    --------
    >>> import workbench as wb
    >>> from workbench.advice import why
    >>> s = wb.Schedule(wb.workloads.matmul(256, 256, 256), wb.Target("llvm", cpu="x86-64-v3", threads=1))
    >>> [one.code for one in why(s).reasons]
    ['scalar', 'latency', 'stride']
    """
    need("advice")
    if not schedule.is_concrete:
        return None
    target = target or schedule.target or Target.host()
    machine = Machine.of(target, constants)
    found = evaluated(schedule, machine)
    whole, spent = float(whole_cycles(found, machine)[0]), [float(cycles.both[0]) for _, cycles in found]
    if whole <= 0.0:
        return None
    k = int(np.argmax(spent))
    facts, cycles = found[k]
    compute, memory = _one(cycles.compute), _one(cycles.memory)
    part, both, launch = spent[k] / whole, compute + memory, 1.0 - sum(spent) / whole
    share = {"compute": part * compute / both, "memory": part * memory / both, "launch": launch}
    share["others"] = 1.0 - sum(share.values())
    if machine.kind == "cpu":
        reasons = _Main(schedule, target, machine, facts, cycles).reasons(launch)
    else:
        reasons = (Reason(*one) for one in device_reasons(schedule, machine, k, cycles))
    given = [r for r in sorted(reasons, key=lambda one: -one.part) if r.part >= LEAST][:MOST]
    others = [
        _stage(schedule, f, t / whole, machine)
        for n, (t, (f, _)) in enumerate(zip(spent, found, strict=True))
        if n != k
    ]
    given += [r for r in sorted(others, key=lambda one: -one.part)[:STAGES] if r.part >= LEAST_STAGE]
    given.sort(key=lambda one: -one.part)
    name = found[k][0].plan.name
    if cures and given:
        trials = SpeedupTrial(schedule, name, target, constants)
        given = [replace(one, cure=trials.of(one.code, one.row)) for one in given]
    return Why(name, share, tuple(given))


def _stage(schedule: Schedule, f: BlockFacts, part: float, machine: Machine) -> Reason:
    """Say that a statement beside the main one takes time, and how it runs."""
    name = f.plan.name
    nests = ([b.name for b, _ in blocks((nest,))] for nest in schedule.func.body)
    own = "is a nest of its own, " if [name] in nests else ""
    how = "scalar" if _one(f.vector) == 1.0 and f.lanes > 1 else "in vectors"
    says = f"{own}{how}" if machine.kind == "cpu" else "is a kernel of its own" if own else "beside it"
    return Reason(STAGE, f"the stage {name} {says}: {_percent(part)} of the time", f"stmt:{name}", part)


class _Main:
    """The statement that takes most of the time, with the parts of its estimate in cycles of one thread."""

    def __init__(self, schedule: Schedule, target: Target, machine: Machine, f: BlockFacts, cycles: Cycles) -> None:
        self._schedule, self._target, self._machine, self._f = schedule, target, machine, f
        self._c = fitted_for(machine)
        share = float(f.share[0])
        self.compute, self.memory = float(cycles.compute[0]) / share, float(cycles.memory[0]) / share
        self._loops = [lp for lp in f.plan.loops if self._extent(lp) > 1]
        self._inner = self._loops[-1].name if self._loops else ""

    def reasons(self, launch: float) -> Iterator[Reason]:
        """Yield all that takes time; `launch` is the share of starting tasks in the whole."""
        yield from self._sums()
        yield from self._issuing()
        yield from self._waiting()
        outer = next((lp for lp in self._loops if lp.kind == "parallel"), None)
        free = next((lp for lp in self._loops if lp.kind == "serial" and not lp.reduces), None)
        threads = self._machine.threads
        if outer is not None:
            tasks = f"{int(self._f.tasks[0]):,} tasks"
            yield Reason("tasks", f"starting {tasks} takes {_percent(launch)}", outer.name, launch)
            yield from self._balance(outer.name)
        elif free is not None and threads > 1 and self.compute + self.memory > 4.0 * self._c.launch:
            yield Reason("serial", f"one of {threads} threads works", free.name, 1.0 - 1.0 / threads)

    def _balance(self, row: str) -> Iterator[Reason]:
        """Whether threads wait for the one that has the most pieces."""
        threads = self._machine.threads
        pieces, share = min(int(self._f.tasks[0]), task_limit(threads)), float(self._f.share[0])
        if threads > 1:
            waits = 1.0 - 1.0 / (threads * share)
            says = (
                f"{pieces:,} {'piece' if pieces == 1 else 'pieces'} for {threads} threads: {_percent(waits)} of their"
            )
            yield Reason("balance", f"{says} time is waiting for the last one", row, waits)

    def _reason(self, code: str, says: str, row: str, cycles: float) -> Reason:
        return Reason(code, says, row, cycles / (self.compute + self.memory))

    # ----- computing

    def _sums(self) -> Iterator[Reason]:
        """What keeps sums from going on: one element at a time, each after the other, in and out of memory."""
        f, c = self._f, self._c
        bodies, n = _one(f.bodies), body_parts(f, self._machine, c)
        if self._scalar:
            text = f"one element at a time; a vector holds {f.lanes}"
            yield self._reason("scalar", text, self._lane(), self.compute * (1.0 - 1.0 / f.lanes))
        wait = bodies * (_one(n["latency"]) - max(_one(n[name]) for name in ("ports", "issue", "stores", "turn")))
        kept = body_parts(f, self._machine, c, kept=True)
        if wait > 0.0 and _one(kept["latency"]) < _one(n["latency"]):
            text = f"sums go to memory and are read back {_count(_one(f.apart), 'iteration')} later: that waits"
            yield self._reason("latency", text, self._free(), wait)
        elif wait > 0.0:
            results = max(1, round(_one(f.vectors) / max(_one(f.chain), 1.0)))
            text = f"sums wait for those before: {results} in flight, {round(2.0 * c.latency)} would hide it"
            yield self._reason("latency", text, self._free(), wait)
        if _one(f.apart) > 0.0 and _one(f.visits) >= bodies:
            loop = next((lp.name for lp in reversed(self._loops) if lp.reduces), "")
            text = f"sums go to memory each time: {loop} is outside of {self._inner}"
            more, less = (max(_one(x) for name, x in parts.items() if name != "spilled") for parts in (n, kept))
            yield self._reason("reload", text, loop, bodies * (more - less))

    def _issuing(self) -> Iterator[Reason]:
        """What the core has to do beside the arithmetic."""
        f, c = self._f, self._c
        bodies, n = _one(f.bodies), body_parts(f, self._machine, c)
        work, loads = _one(f.fma) + _one(f.arithmetic), _one(f.contiguous) + _one(f.broadcast) + _one(f.strided)
        text = f"{round(_one(f.registers))} values do not fit the {self._machine.registers} registers"
        yield self._reason("spill", text, self._vector or self._free(), bodies * _one(n["spilled"]))
        gathered, more = _one(f.strided), bodies * max(0.0, _one(n["ports"]) - work / 2.0)
        far = max(self._steps(self._vector), key=lambda one: abs(one.step_bytes or 0), default=None)
        if gathered > 0.0 and far is not None and far.step_bytes:
            text = (
                f"the lanes of {self._vector} lie {_size(abs(far.step_bytes))} apart in {far.buffer}: loaded one by one"
            )
            yield self._reason("gather", text, self._vector, more)
        elif not self._scalar:
            text = f"{_count(loads, 'load')} for {_count(work, 'operation')}: registers are used too little"
            yield self._reason("loads", text, self._free(), more)
        loop = next((lp.name for lp in reversed(self._loops) if lp.kind not in STRAIGHT), "")
        if loop and not self._scalar:
            text = f"an iteration of {loop} does only {_count(_one(f.vectors), 'operation')}"
            yield self._reason("overhead", text, loop, bodies * c.body)
        text = f"conditions of padding are tested {round(_one(f.guards)):,} times"
        cycles = c.guard * _one(f.guards) + c.lane_guard * _one(f.lane_guards)
        yield self._reason("guards", text, f"stmt:{f.plan.name}", cycles)

    @cached_property
    def _scalar(self) -> bool:
        """Whether there is nothing but the loops to run the statement."""
        return _one(self._f.vector) == 1.0 and self._f.lanes > 1 and self._f.plan.intrinsic is None

    def _lane(self) -> str:
        """The loop that would run best as vectors: the lanes lie side by side, or are the same, wherever it moves."""
        steps = [[_one(s) for s in fp.stride] for fp in self._f.prints]
        names = [lp.name for lp in self._f.plan.loops]
        free = [lp.name for lp in reversed(self._loops) if lp.kind == "serial" and not lp.reduces]
        written = [name for name in free if steps[0][names.index(name)] == 1.0]
        whole = [name for name in written if all(abs(s[names.index(name)]) in (0.0, 1.0) for s in steps[1:])]
        return next(iter([*whole, *written]), "")

    def _free(self) -> str:
        """The innermost loop over results that is not run as vectors."""
        return next((lp.name for lp in reversed(self._loops) if not lp.reduces and lp.kind != "vectorize"), self._inner)

    @cached_property
    def _vector(self) -> str:
        return next((lp.name for lp in self._loops if lp.kind == "vectorize"), "")

    # ----- memory

    def _waiting(self) -> Iterator[Reason]:
        """What is fetched from further away, and why so much: long steps, or more than the cache keeps."""
        fetching = {name: _one(x) for name, x in waiting(self._f, self._machine, self._c).items()}
        level = max(LEVELS, key=lambda name: fetching[name])
        moved: dict[str, float] = defaultdict(float)
        for x, a in zip(self._f.traffic.moved[level], self._f.plan.accesses, strict=True):
            moved[a.buffer] += _one(x)
        steps = {r.buffer: abs(r.step_bytes or 0) for r in self._steps(self._inner)}
        # Of those that move about as much, the one with the longest steps.
        most = max(moved.values())
        buffer = max((b for b in moved if moved[b] > 0.8 * most), key=lambda b: (steps.get(b, 0), moved[b]))
        below = {"l1": "L2", "l2": "L3", "l3": "memory"}[level]
        share = _percent(moved[buffer] / sum(moved.values()))
        text = f"{level.upper()} fetches {_size(sum(moved.values()))} from {below}, {share} for {buffer}"
        if (step := steps.get(buffer, 0)) >= self._target.line_bytes:
            text += f": {self._inner} steps through it by {_size(step)}, a cache line for each element"
            if level == "l1" and (sets := Caches.WAYS[0] // min(step & -step, Caches.WAYS[0])) <= _FEW:
                text += f", which all go to {sets} of the {Caches.WAYS[0] // self._target.line_bytes} sets of L1"
            yield self._reason("stride", text, self._inner, fetching[level])
        elif (large := self._too_large(level)) is not None:
            loop, touched, fits = large
            says = "in lines that get in each other's way in" if fits else "more than"
            text += f": one run of {loop} touches {_size(touched)}, {says} {level.upper()}{'' if fits else ' keeps'}"
            yield self._reason("cache", text, loop, fetching[level])

    def _steps(self, loop: str) -> list[AccessRow]:
        """What the statement reads and writes from one iteration of a loop to the next."""
        found = accesses(self._schedule.func, loop, self._target) if loop else ()
        return [row for row in found if row.block == self._f.plan.name]

    def _too_large(self, level: str) -> tuple[str, float, bool] | None:
        """The innermost loop of which one run takes more room than a cache has, how much it touches, and whether that
        alone would fit.
        """
        k, machine = LEVELS.index(level), self._machine
        room = (machine.l1, machine.l2, machine.l3)[k] * Caches.OCCUPANCY
        touched = np.sum([fp.bytes for fp in self._f.prints], axis=0)
        for at, loop in reversed(list(enumerate(self._f.plan.loops))):
            if _one(self._f.traffic.filled[k, at]) > 1.0 and self._extent(loop) > 1:
                return loop.name, _one(touched[at]), _one(touched[at]) <= room
        return None

    @staticmethod
    def _extent(loop: LoopPlan) -> int:
        return loop.extent if isinstance(loop.extent, int) else 1


def _one(x: Any) -> float:
    """The number of a schedule without open ones."""
    return float(np.ravel(x)[0])


def _percent(share: float) -> str:
    return f"{max(1, round(100 * share))} %"


def _size(n: float) -> str:
    """``256 bytes``, ``12.3 KB``, ``1.5 MB``, ``17.2 GB``: as the nest and its table say it."""
    for k, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if n >= 1000 << 10 * (k - 1) and n >= 10_000:
            return f"{n / (1 << 10 * k):.3g} {unit}"
    return f"{round(n):,} bytes"


def _count(n: float, what: str) -> str:
    return f"{round(n)} {what}{'' if round(n) == 1 else 's'}"

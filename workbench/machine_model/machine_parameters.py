"""The few numbers of a target that the analytic cost model and the sketch rules use.

How fast caches deliver was fitted on one machine (`constants.Constants`). Where the reading rates of this machine were
measured before (`runtime.machine.measured_roofline`, kept in the cache directory), the fitted rates are scaled by them:
`Machine.pace`.
Nothing is measured here; `measure_pace` does that when it is asked to.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache

from workbench.codegen.gpu.occupancy import MULTIPROCESSORS, Multiprocessor
from workbench.codegen.vta.design import Design
from workbench.machine_model.constants import Rates
from workbench.runtime.machine.measured_roofline import stored
from workbench.runtime.machine.measured_roofline import working_sets as level_sizes
from workbench.runtime.results.measure_options import check_constants
from workbench.target import Target, cache_dir


@dataclass(frozen=True, slots=True)
class Gpu:
    """What a GPU gives the threads of one block, how many of them run together, and how fast it is.

    Attributes
    ----------
    threads : int
        Threads of a block, at most.
    shared : int
        Bytes that the threads of a block share, at most.
    registers : int
        Registers of 4 bytes of a multiprocessor, which the threads of a block may have together.
    warp : int
        Threads that run together.
    multiprocessors : int
    each : Multiprocessor
        What the blocks on one of them share.
    clock : float
        Cycles per second of a multiprocessor.
    bytes_per_cycle : float
        What memory delivers, to all multiprocessors together.
    """

    threads: int = 1024
    shared: int = 48 << 10
    registers: int = 64 << 10
    warp: int = 32
    multiprocessors: int = 108
    each: Multiprocessor = field(default_factory=lambda: MULTIPROCESSORS["sm_80"])
    clock: float = 1.41e9
    bytes_per_cycle: float = 1103.0

    @staticmethod
    def of(target: Target) -> Gpu | None:
        """Numbers of a target; None for a processor."""
        given = dict(target.options)
        if "max_num_threads" not in given:
            return None
        limits = ("max_num_threads", "max_shared_memory_per_block", "registers_per_block", "thread_warp_size")
        threads, shared, registers, warp, many, room = (
            int(given[name]) for name in (*limits, "multiprocessors", "shared_memory_per_multiprocessor")
        )
        clock = 1e6 * int(given["clock_mhz"])
        each = replace(MULTIPROCESSORS[str(given.get("arch", "sm_80"))], shared=room, registers=registers)
        return Gpu(threads, shared, registers, warp, many, each, clock, 1e9 * int(given["memory_gbytes"]) / clock)


@dataclass(frozen=True, slots=True)
class Machine:
    """One core's vector unit and caches, and the number of threads.

    Attributes
    ----------
    lanes : int
        float32 values of one vector register.
    registers : int
        Vector registers.
    l1, l2, l3 : int
        Cache sizes in bytes; `l3` is the share of one core.
    line : int
        Bytes of a cache line.
    isa : frozenset of str
        Vector extensions, as `Target.isa` names them.
    halves : bool
        Whether the core executes its widest vectors in two halves: one multiply-add per tick instead of two.
    pace : tuple of float
        How fast the second and the third level deliver per cycle, against the machine of the fit; 1 where nothing was
        measured.
    weights : {"near", "shared", "memory"}
        Where kernels find their constants (`MeasureOptions.constants`).
    gpu : Gpu or None
        The device, where the target is one.
    accelerator : Design or None
        Its sizes, where the target is an accelerator.
    """

    lanes: int = 16
    registers: int = 32
    l1: int = 48 << 10
    l2: int = 2 << 20
    l3: int = 32 << 20
    line: int = 64
    threads: int = 2
    isa: frozenset[str] = frozenset()
    halves: bool = False
    pace: tuple[float, float] = (1.0, 1.0)
    weights: str = "near"
    gpu: Gpu | None = None
    accelerator: Design | None = None

    @property
    def kind(self) -> str:
        """Which sketch rules are for it."""
        return "gpu" if self.gpu is not None else "cpu" if self.accelerator is None else "accelerator"

    @property
    def constants(self) -> str:
        """Where the constants of the estimate come from: "fitted", or "measured" with the paces; and for which core."""
        how = "fitted" if self.pace == (1.0, 1.0) else f"measured({self.pace[0]:.3g},{self.pace[1]:.3g})"
        return f"{how}-halves" if self.halves else how

    @staticmethod
    def of(target: Target | None, weights: str = "near") -> Machine:
        """Numbers of a target (of the host for None); a cache level that does not exist counts as the one below it.
        `weights` is where kernels find their constants.

        A device whose threads do not run together is this processor, behind a driver: it has the numbers of the host,
        and no instruction that a schedule names.
        """
        check_constants(weights)
        gpu = None if target is None else Gpu.of(target)
        if gpu is not None and gpu.warp == 1:
            return replace(Machine.of(None, weights), isa=frozenset())
        if target is None:
            target = Target.host()
        l1 = target.l1_bytes or 32 << 10
        l2 = max(target.l2_bytes, l1)
        l3 = max(target.l3_bytes, l2)
        lanes = target.lanes("float32")
        halves = lanes == 16 and target.cpu in _HALVES
        found = Machine(
            lanes, target.vector_registers, l1, l2, l3, target.line_bytes, target.threads, target.isa, halves,
            gpu=gpu, accelerator=Design.of(target) if target.kind == "vta" else None,
        )  # fmt: skip
        return replace(found, pace=_stored_pace(target, str(cache_dir()), found), weights=weights)


#: Processors that execute vectors of 512 bits in halves.
_HALVES = ("znver4",)


def measure_pace(target: Target) -> Machine:
    """Measure how fast the caches of this machine deliver, keep it, and return the machine as `Machine.of` will see it
    in every later process. Takes some seconds.

    Raises
    ------
    TargetError
        ``target.host``
    """
    from workbench.runtime.machine.measured_roofline import roofs

    for nbytes in working_sets(Machine.of(target)):
        if nbytes:
            roofs(target, target.threads, nbytes)
    _stored_pace.cache_clear()
    return Machine.of(target)


def working_sets(machine: Machine) -> tuple[int, int]:
    """Bytes that all threads together read to see the second and the third level; 0 where no size shows it alone."""
    found = level_sizes(machine.threads, machine.l1, machine.l2, machine.l3)
    return found.get("L2", 0), found.get("L3", 0)


@lru_cache(maxsize=64)
def _stored_pace(target: Target, folder: str, machine: Machine) -> tuple[float, float]:
    """Paces from what was measured before; one process keeps to what it has seen first, and so do its estimates."""
    out = []
    rates = Rates.HALVES if machine.halves else Rates.FITTED
    for nbytes, fitted in zip(working_sets(machine), rates, strict=True):
        found = stored(target, machine.threads, nbytes) if nbytes else None
        cycles = found.gflops / (4.0 * machine.lanes) if found else 0.0
        pace = found.gbytes / cycles / fitted if found and cycles > 0 else 1.0
        # In quarters of an octave: what two measurements of one machine differ by is no news.
        out.append(2.0 ** (round(4.0 * math.log2(min(max(pace, 1.0 / Rates.MOST), Rates.MOST))) / 4.0))
    return out[0], out[1]

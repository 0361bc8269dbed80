"""What a `DaskRunner` does in the workers of a cluster: device by device, with processes of each runner's own.

A worker process serves any number of runners at the same time: sessions that share a cluster. None of them sees what
another one does: each has its own `LocalRunner` on each device, so that neither best times nor a `cancel` reach across.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import platform
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from workbench import __version__
from workbench.errors import WorkbenchError
from workbench.host import usable_threads
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measure_options import MeasureOptions
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.workers.batch import MeasureInput
from workbench.runtime.workers.local_runner import LocalRunner
from workbench.tune.constants import Cluster


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """Who wants something measured, and where.

    Attributes
    ----------
    owner, batch : str
        Names of the runner and of its batch, for `abort` and `let_go`.
    target : str
        What to compile for, in text form.
    builders : int or None
        Builder processes of each device.
    resource : str
        What the cluster calls a device.
    devices : int
        How many of them this worker has.
    """

    owner: str
    batch: str
    target: str
    builders: int | None = None
    resource: str = "device"
    devices: int = 1


class DevicePool:
    """The devices of this process: who measures on which, and the processes that stay for the next piece of work.

    Parameters
    ----------
    make_runner : callable
        Makes the runner of a device: takes the target's text and the number of builders.
    """

    def __init__(self, make_runner: Callable[[str, int | None], LocalRunner]) -> None:
        self._make_runner = make_runner
        self._changed = threading.Condition()
        self._busy: dict[tuple[str, int], str] = {}  # device: batch that it works on
        self._runners: OrderedDict[tuple[str, str, int], LocalRunner] = (
            OrderedDict()
        )  # owner and device: last used last
        self._ended: OrderedDict[str, None] = OrderedDict()

    @contextlib.contextmanager
    def device(self, order: DeviceRequest) -> Iterator[LocalRunner | None]:
        """Take a device, waiting until one is free, and lend its runner; None when the order has been called off."""
        slot = self._take(order)
        if slot is None:
            yield None
            return
        surplus: list[LocalRunner] = []
        try:
            with pinned(share(slot, order.devices)):
                yield self._runner_of(order, slot)
        finally:
            with self._changed:
                del self._busy[order.resource, slot]
                idle = [key for key in self._runners if key[1:] not in self._busy]
                for key in idle[: max(0, len(idle) - Cluster.IDLE_RUNNERS * order.devices)]:
                    surplus.append(self._runners.pop(key))
                self._changed.notify_all()
            for runner in surplus:
                runner.close()

    def _take(self, order: DeviceRequest) -> int | None:
        # The cluster gives out no more work than there are devices, but lets go of what was cancelled while it runs.
        with self._changed:
            while not self._off(order):
                for slot in range(order.devices):
                    if (order.resource, slot) not in self._busy:
                        self._busy[order.resource, slot] = order.batch
                        return slot
                self._changed.wait()
        return None

    def _off(self, order: DeviceRequest) -> bool:
        return order.owner in self._ended or order.batch in self._ended

    def _runner_of(self, order: DeviceRequest, slot: int) -> LocalRunner | None:
        key = (order.owner, order.resource, slot)
        with self._changed:
            if self._off(order):
                return None
            if key not in self._runners:
                self._runners[key] = self._make_runner(order.target, order.builders)
            self._runners.move_to_end(key)
            return self._runners[key]

    def prepare(self, order: DeviceRequest) -> None:
        """Start an owner's processes on all devices; a device need not be free for that."""
        for slot in range(order.devices):
            with pinned(share(slot, order.devices)):
                runner = self._runner_of(order, slot)
                if runner is not None:
                    runner.start()

    def off(self, order: DeviceRequest) -> bool:
        """Whether an order has been called off."""
        with self._changed:
            return self._off(order)

    def abort(self, owner: str, batch: str) -> None:
        """Throw away what is measured for a batch, and what is still to come of it."""
        with self._changed:
            self._end(batch)
            devices = [device for device, who in self._busy.items() if who == batch]
            runners = [self._runners[owner, *device] for device in devices if (owner, *device) in self._runners]
        for runner in runners:
            runner.cancel()

    def let_go(self, owner: str) -> None:
        """End an owner's processes, and serve it no more."""
        with self._changed:
            self._end(owner)
            mine = [key for key in self._runners if key[0] == owner]
            runners = [self._runners.pop(key) for key in mine]
        for runner in runners:
            runner.close()

    def _end(self, name: str) -> None:
        self._ended[name] = None
        while len(self._ended) > Cluster.REMEMBERED:
            self._ended.popitem(last=False)
        self._changed.notify_all()


def _make_runner(target: str, builders: int | None) -> LocalRunner:
    from workbench.target import Target

    return LocalRunner(Target(target), builders=builders)


_devices = DevicePool(_make_runner)


# ---- what runners call ----


def introduce(target: str) -> dict[str, Any]:
    """Say what machine this is, and whether it can measure for a target: plain values, which all versions understand.

    Returns
    -------
    dict
        ``version`` of this package; ``host``, the machine's name as records have it; ``machine``, what it could compile
        for, in a target's text form, for one thread; ``cores`` that it may use; ``problem``, why it cannot measure for
        the target, empty when it can.
    """
    from workbench.codegen.backend import require_runnable
    from workbench.target import Target

    problem = ""
    try:
        require_runnable(Target(target))
    except WorkbenchError as error:
        problem = error.message
    machine = str(Target.host(threads=1))
    cores = usable_threads()
    return {"version": __version__, "host": host_name(), "machine": machine, "cores": cores, "problem": problem}


async def prepare(order: DeviceRequest) -> None:
    """Start the processes of all devices, without waiting for them."""
    await asyncio.to_thread(_devices.prepare, order)


def measure(order: DeviceRequest, inputs: Sequence[MeasureInput], options: MeasureOptions) -> list[Measurement]:
    """Measure some candidates, one after the other; ``cancelled`` where `abort` came first."""
    found = [Measurement(status="cancelled") for _ in inputs]
    with _devices.device(order) as runner:
        for position, measurement in runner.measure_many(inputs, options) if runner is not None else ():
            found[position] = replace(measurement, host=host_name())
            if _devices.off(order):  # `abort` may have come before the batch had begun
                break
    return found


def contest(order: DeviceRequest, inputs: Sequence[MeasureInput], options: MeasureOptions, rules: Any) -> Contest:
    """Time candidates of one task in alternating blocks."""
    with _devices.device(order) as runner:
        if runner is None:
            return Contest(measurements=tuple(Measurement(status="cancelled") for _ in inputs))
        result = runner.contest(inputs, options, rules)
    return replace(result, measurements=tuple(replace(m, host=host_name()) for m in result.measurements))


def abort(owner: str, batch: str) -> None:
    """Throw away what is being measured for a batch in this process."""
    _devices.abort(owner, batch)


async def let_go(owner: str) -> None:
    """End the processes that measure for a runner."""
    await asyncio.to_thread(_devices.let_go, owner)


# ---- one device of several ----


def host_name() -> str:
    """Return the name of this machine, as records have it."""
    return f"{platform.node()} {platform.machine()}"


def share(slot: int, devices: int) -> frozenset[int] | None:
    """Return the hardware threads of one of several devices of equal size, or None for all that there are.

    Threads of one core stay together, and so do cores of one socket, as far as the system tells which they are.
    """
    if devices < 2 or not hasattr(os, "sched_getaffinity"):
        return None
    every = sorted(os.sched_getaffinity(0), key=_place)
    return frozenset(every[len(every) * slot // devices : len(every) * (slot + 1) // devices]) or None


@functools.cache
def _place(cpu: int) -> tuple[int, int, int]:
    """Return socket, core and number of a hardware thread."""
    place = []
    for name in ("physical_package_id", "core_id"):
        try:
            place.append(int(Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/{name}").read_text()))
        except (OSError, ValueError):
            place.append(0)
    return place[0], place[1], cpu


@contextlib.contextmanager
def pinned(cpus: frozenset[int] | None) -> Iterator[None]:
    """Keep what this thread starts meanwhile, threads and processes, to some hardware threads."""
    if cpus is None:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)

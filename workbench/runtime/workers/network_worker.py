"""A worker process that times whole networks, in turns."""

from __future__ import annotations

import math
import queue
import time
from collections.abc import Callable, Sequence
from typing import Any

from workbench.errors import RunError, WorkbenchError
from workbench.runtime.execution.alternating_runs import PATIENCE, NetworkJob, PlanTime
from workbench.runtime.machine import turns
from workbench.runtime.machine.queue_line import Waiting
from workbench.runtime.networks.execution_plan import ExecutablePlan
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.workers.pipe import HELLO
from workbench.runtime.workers.process import Event, Worker

#: Seconds that a worker may take besides timing: to start, to receive weights, to load code.
#: Chosen, not measured.
_SLACK_S = 60.0


def measure_networks(
    plans: Sequence[ExecutablePlan], seconds: float = 1.0, going_on: Callable[[], bool] = lambda: True
) -> tuple[PlanTime, ...]:
    """Time plans of one network in turns, in a worker process of their own.

    Parameters
    ----------
    plans : sequence of ExecutablePlan
        With the same inputs, for the same number of threads.
    seconds : float
        Time for all runs.
    going_on : callable
        Asked ten times a second; when it says no, the worker is stopped and there are no times.

    Raises
    ------
    RunError
        ``run.network`` when the worker fails: it crashes, a step cannot be computed, or takes far longer than that.
    """
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    worker = Worker("run", inbox)
    try:
        try:
            worker.send(NetworkJob(tuple(plans), seconds))
        except WorkbenchError:
            raise
        except Exception as error:  # a step of the network that cannot be sent to another process
            raise RunError("run.network", f"the network cannot be given to a worker process: {error}") from error
        return _answer(worker, inbox, _SLACK_S + 10.0 * PATIENCE * seconds, going_on)
    finally:
        worker.kill()
        worker.end()


def _answer(
    worker: Worker, inbox: queue.SimpleQueue[Any], limit_s: float, going_on: Callable[[], bool]
) -> tuple[PlanTime, ...]:
    deadline = time.monotonic() + limit_s
    while True:
        try:
            event: Event = inbox.get(timeout=0.1)
        except queue.Empty:
            if time.monotonic() > deadline:
                raise RunError("run.network", "timing the network took too long, so its worker was stopped") from None
            if not going_on():
                return ()
            continue
        if isinstance(event.message, Waiting):
            deadline = math.inf if event.message.ahead else time.monotonic() + limit_s
            turns.announce(event.message)
            continue
        if event.message is None:
            raise RunError("run.network", f"the network could not be timed: {worker.end(2.0)}")
        if isinstance(event.message, Measurement):
            raise RunError("run.network", f"the network could not be timed: {event.message.error}")
        if event.message != HELLO:
            found: tuple[PlanTime, ...] = event.message
            return found

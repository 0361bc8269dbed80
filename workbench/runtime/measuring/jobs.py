"""What a worker process is asked to do, and what it answers. Plain values that cross process borders."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from workbench.codegen.lowering import ObjectCode
from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.ir import Buffer, Func
from workbench.runtime.results.measure_options import ContestRules, MeasureOptions
from workbench.runtime.results.measurement import Measurement


@dataclass(frozen=True, slots=True)
class BuildJob:
    """For a builder: compile this concrete function or runtime kernel."""

    func: Func | KernelFunction
    target: object
    symbol: str


@dataclass(frozen=True, slots=True)
class Built:
    """A builder's answer: the code, or the text of the error."""

    code: ObjectCode | None
    seconds: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class SetupJob:
    """For a runner: make inputs and the reference result of a task."""

    key: str
    func: Func
    seed: int


@dataclass(frozen=True, slots=True)
class TrialJob:
    """For a runner: check and time this code. `best_ms` is the best time of the task so far.

    Of the `threads` of the target it keeps `busy` at work: only those can be disturbed. None is all of them.
    """

    key: str
    code: ObjectCode
    params: tuple[Buffer, ...]
    threads: int
    options: MeasureOptions
    best_ms: float = math.inf
    busy: int | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A runner's answer that is no measurement: a task is ready, needs its `SetupJob` first, or, in a contest that
    another participant ended, has to be measured again.
    """

    what: Literal["ready", "need_setup", "again"]


@dataclass(frozen=True, slots=True)
class ContestJob:
    """For a runner: check these candidates of one task, then time them in alternating blocks.

    With `telling` it tells before every block whose it is: who hears that takes a tenth of a brief block to do so, on a
    core that a kernel may need, so this is asked for only when one of them fails and nobody knows which.
    """

    trials: tuple[TrialJob, ...]
    rules: ContestRules
    telling: bool = False


#: The `Turn` of all participants, one block after the other.
EVERYBODY = -1


@dataclass(frozen=True, slots=True)
class Turn:
    """A runner tells, before it begins, which participant runs now, or `EVERYBODY`; and that it is still at work."""

    index: int


@dataclass(frozen=True, slots=True)
class ContestDone:
    """A runner's answer, one per participant."""

    results: tuple[Measurement | Reply, ...]

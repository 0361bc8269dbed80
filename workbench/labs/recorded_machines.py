"""Recorded machines: devices that are not here, and answer from a log of every configuration of a kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from workbench import logs
from workbench import markup as m
from workbench.arguments import is_a, shown, whole
from workbench.errors import InputError, UsageError, did_you_mean
from workbench.labs.sample_logs import sample_log
from workbench.logs.conversion import OWN_STATUS
from workbench.logs.evaluation import SECONDS
from workbench.logs.simulation.configurations import Configurations
from workbench.logs.simulation.simulating import ParameterSpace
from workbench.registry import Declarations
from workbench.runtime.results.measurement import Measurement, Status

if TYPE_CHECKING:
    import pandas

    from workbench.logs.tuning_log import TuningLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A complete log that comes with the package.

    Attributes
    ----------
    name : str
        What `recorded` is asked for.
    machine, kernel : str
        Whose answers these are, and what ran on it.
    file : str
        Name of the log, for `sample_log`.
    configurations : int
        Size of the space: each of them is in the log.
    origin, licence : str
        Who measured it and where it is from; under which terms it may be passed on.
    """

    name: str
    machine: str
    kernel: str
    file: str
    configurations: int
    origin: str
    licence: str = "MIT"


RECORDINGS: Declarations[Recording] = Declarations(
    "recorded machine", "recorded machines", "lab.no_recording", error=InputError
)

_HUB = "AutoTuningAssociation/benchmark_hub, commit 8eeb99e7"
_CONVOLUTION = f"Kernel Tuner; cachefiles/convolution_milo/{{}}.json.gz of {_HUB}"
RECORDINGS.add(
    Recording(
        name="a100-convolution", machine="NVIDIA A100-PCIE-40GB", kernel="convolution 15 × 15 of 4096 × 4096",
        file="convolution-A100.json.gz", configurations=4362, origin=_CONVOLUTION.format("A100"),
    )
)  # fmt: skip
RECORDINGS.add(
    Recording(
        name="a4000-convolution", machine="NVIDIA RTX A4000", kernel="convolution 15 × 15 of 4096 × 4096",
        file="convolution-A4000.json.gz", configurations=4362, origin=_CONVOLUTION.format("A4000"),
    )
)  # fmt: skip
RECORDINGS.add(
    Recording(
        name="rtx3090-polygons", machine="NVIDIA GeForce RTX 3090", kernel="20 million points in or out of a polygon",
        file="polygons-RTX3090.json.gz", configurations=4092,
        origin=f"Kernel Tuner; currently_unused/cachefiles/KernelTuner data/pnpoly/RTX_3090.json.gz of {_HUB}",
    )
)  # fmt: skip
RECORDINGS.add(
    Recording(
        name="rtx2080ti-coulomb", machine="NVIDIA GeForce RTX 2080 Ti", kernel="potential of charges on a 3-D grid",
        file="coulomb-RTX2080Ti.json.gz", configurations=210,
        origin="KTT; Examples/CoulombSum3d/coulomb_2080_full_search_space.json of HiPerCoRe/KTT, commit 931c4157",
    )
)  # fmt: skip


class RecordedMachine:
    """A device that is not here, and answers as its log says.

    Parameters
    ----------
    recording : Recording
        The log.
    answers : bool
        Whether `best` and `log` are told.
    budget : int, optional
        So many different configurations may be measured.
    """

    def __init__(self, recording: Recording, answers: bool = False, budget: int | None = None) -> None:
        self.recording = recording
        self._answers, self._budget = answers, budget
        self._measured: dict[int, None] = {}

    @cached_property
    def _log(self) -> TuningLog:
        return logs.open(sample_log(self.recording.file))

    @cached_property
    def _table(self) -> Configurations:
        return Configurations.of(self._log)

    @cached_property
    def space(self) -> ParameterSpace:
        """The configurations, not what measuring them gives: ``space.params``, ``space.draw(rng)``, ``space[k]``,
        ``space.neighbours(params)``, ``len(space)``, ``params in space``.
        """
        return ParameterSpace(self._table)

    @property
    def measured(self) -> int:
        """How many different configurations were measured."""
        return len(self._measured)

    @property
    def device_s(self) -> float:
        """Seconds for which the machine compiled and ran what was measured here, as far as its log tells."""
        rows = self._log.records.iloc[self._table.records[list(self._measured)]]
        return float(rows[["compile_s", "run_s"]].sum().sum())

    def measure(self, params: Mapping[str, Any] | None = None, /, **named: Any) -> Measurement:
        """Return what the machine measured: its repetitions, or how the configuration failed.

        Parameters
        ----------
        params : mapping, optional
            Name of each parameter -> its value. Those with one value only need not be said.
        **named
            The same by name, instead or beside.

        Raises
        ------
        UsageError
            ``usage.configuration`` for what the space does not allow, with what is wrong; ``lab.budget`` when the
            budget is spent. What was measured before may be asked for again.
        """
        fixed = {name: values[0] for name, values in self.space.params.items() if len(values) == 1}
        wanted = {**fixed, **is_a("params", {} if params is None else params, Mapping), **named}
        number = self._table.find(wanted)
        if number is None:
            raise self._refused(wanted)
        if number not in self._measured and self._budget is not None and self.measured >= self._budget:
            message = f"The budget of {m.plural(self._budget, 'configuration')} is spent"
            raise UsageError("lab.budget", message, (), "take the best of those that you measured")
        self._measured[number] = None
        return self._answer(number)

    def simulate(self, strategy: Any = "evolutionary", budget: int = 200, **options: Any) -> pandas.DataFrame:
        """Run a search on this machine, as `workbench.logs.simulate` does; nothing of it counts as `measured`."""
        return logs.simulate(self._log, strategy=strategy, budget=budget, **options)

    def score(self, runs: pandas.DataFrame) -> float:
        """Return how good runs of `simulate` were: 0 is as good as chance, 1 the optimum at once."""
        return logs.score(runs, self._log)

    @property
    def best(self) -> tuple[dict[str, Any], Measurement]:
        """The fastest configuration, and what measuring it gave. Tuners rank by the mean of the repetitions.

        Raises
        ------
        UsageError
            ``lab.mode`` where answers are not told.
        """
        self._told("best")
        number = int(self._table.costs.argmin())
        return self.space[number], self._answer(number)

    @property
    def log(self) -> TuningLog:
        """The whole log; raises as `best` does."""
        self._told("log")
        return self._log

    def _told(self, what: str) -> None:
        if not self._answers:
            message = f"The {what} of this machine is not told while you search"
            raise UsageError(
                "lab.mode", message, (self.recording.name,), "measure configurations, or simulate a search"
            )

    def _answer(self, number: int) -> Measurement:
        row = self._log.records.iloc[self._table.records[number]]
        status = cast("Status", OWN_STATUS[str(row["status"])])
        host = f"{self.recording.machine} (recorded)"
        if status != "ok":
            said = str(row["error"] or row["told"] or row["status"])
            return Measurement(status=status, error=said, host=host)
        scale = SECONDS.get(str(row["unit"]), math.nan) * 1e3
        costs = tuple(float(cost) * scale for cost in row["repeats"] or (row["value"],))
        seconds = (0.0 if math.isnan(row[name]) else float(row[name]) for name in ("compile_s", "run_s"))
        compile_s, run_s = seconds
        return Measurement(status="ok", costs_ms=costs, compile_s=compile_s, run_s=run_s, number=1, host=host)

    def _refused(self, wanted: Mapping[str, Any]) -> UsageError:
        """Say what is wrong with a configuration that the log does not have."""
        known = self.space.params
        for name in wanted:
            if name not in known:
                hint = did_you_mean(str(name), known, "parameters")
                return UsageError("usage.configuration", f"There is no parameter {str(name)!r}", (str(name),), hint)
        missing = [name for name in known if name not in wanted]
        if missing:
            message = f"The configuration says nothing of {', '.join(missing)}"
            return UsageError("usage.configuration", message, missing, "`machine.space.params` has the values")
        for name, value in wanted.items():
            if not self._table.has(name, value):
                hint = f"one of {', '.join(map(str, known[name]))}"
                return UsageError("usage.configuration", f"{name} cannot be {shown(value)}", (name,), hint)
        message = "The space does not allow this configuration: a restriction of the kernel forbids it"
        return UsageError("usage.configuration", message, (), "`params in machine.space` says whether it does")

    def __repr__(self) -> str:
        one = self.recording
        return f"<RecordedMachine {one.name}: {one.machine}, {one.kernel}, {one.configurations} configurations>"

    def _repr_html_(self) -> str:
        one = self.recording
        count = m.plural(one.configurations, "configuration")
        return m.page(m.heading(one.machine, one.kernel, count), m.line(m.faint(f"{one.origin} ({one.licence})")))


def recorded(name: str, *, answers: bool = False, budget: int | None = None) -> RecordedMachine:
    """Return a machine that is not here, and answers from a complete log of what it measured.

    Parameters
    ----------
    name : str
        ``"a100-convolution"``, ``"a4000-convolution"``, ``"rtx3090-polygons"`` or ``"rtx2080ti-coulomb"``.
    answers : bool
        Whether `RecordedMachine.best` and `RecordedMachine.log` are told.
    budget : int, optional
        So many different configurations may be measured.

    Raises
    ------
    InputError
        ``lab.no_recording`` for a name that is not there.

    Examples
    --------
    >>> machine = recorded("a100-convolution", budget=60)
    >>> machine.measure(machine.space[0]).ms
    3.871744
    """
    limit = None if budget is None else whole("budget", budget)
    return RecordedMachine(RECORDINGS[name], is_a("answers", answers, bool), limit)

"""What a runner does with a contest: load and check all participants, then time them in alternating blocks."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from workbench.runtime.machine.interference import Interference
from workbench.runtime.measuring.adaptive_repeats import Timer
from workbench.runtime.measuring.candidate import Candidate
from workbench.runtime.measuring.candidate_run import TrialRunner
from workbench.runtime.measuring.contest_rounds import play
from workbench.runtime.measuring.jobs import EVERYBODY, ContestDone, ContestJob, Reply
from workbench.runtime.measuring.operands import GUARD
from workbench.runtime.results.measurement import Measurement, error_text

#: Shortest stretch in ms that is timed on its own: a block is judged by several, so that one disturbance spoils one.
#: Chosen, not measured; `bench_measuring` and the simulated clocks of `test_contest` tell what comes of it.
_STRETCH_MS = 0.1

#: Stretches of a block at least, unless they are long.
#: Chosen, not measured; `bench_measuring` and the simulated clocks of `test_contest` tell what comes of it.
_STRETCHES = 3

#: Those that take no more than so many times as long as the fastest participant get the same stretches.
#: Chosen, not measured; `bench_measuring` and the simulated clocks of `test_contest` tell what comes of it.
_CLOSE = 1.5

#: Seconds between two messages that blocks are being timed.
#: Chosen, not measured.
_PULSE_S = 1.0

#: So many times as many stretches a block gets when other programs disturb them, and so many times its time.
#: Chosen, not measured.
_PATIENCE, _LONGEST = 3, 6


def run_contest(runner: TrialRunner, job: ContestJob, turn: Callable[[int], None]) -> Reply | ContestDone:
    """Check and time the participants.

    Parameters
    ----------
    runner : TrialRunner
        Has the operands of the task.
    job : ContestJob
        The participants and the rules.
    turn : callable
        Is told who is going to run, before it runs for the first time: whoever watches knows so who crashed. Then, from
        time to time, that all of them run, or before every block whose it is, as the job says.
    """
    first = job.trials[0]
    if not runner.knows(first.key):
        return Reply("need_setup")
    room = max(trial.code.workspace_bytes(trial.threads) for trial in job.trials)
    runner.launch_context(first.threads).reserve(room, GUARD)  # once for all: nobody's workspace moves later
    loaded: list[Candidate] = []
    try:
        for i, trial in enumerate(job.trials):
            turn(i)
            try:
                loaded.append(runner.candidate(trial, i + 1))
            except Exception as error:
                return _without(i, len(job.trials), Measurement(status="run_error", error=error_text(error)))
        with runner.watching(max(job.trials, key=lambda trial: trial.busy or trial.threads)) as watch:
            return _ContestBlocks(runner, job, loaded, turn, watch).result()
    finally:
        for candidate in loaded:
            candidate.close()


def _without(i: int, participants: int, how: Measurement) -> ContestDone:
    """The end of a contest in which one participant failed: the others are to be asked again."""
    return ContestDone(tuple(how if k == i else Reply("again") for k in range(participants)))


class _ContestBlocks:
    """The blocks of one contest."""

    def __init__(
        self,
        runner: TrialRunner,
        job: ContestJob,
        loaded: list[Candidate],
        turn: Callable[[int], None],
        watch: Interference,
    ) -> None:
        self._runner, self._job, self._turn, self._watch = runner, job, turn, watch
        self._loaded = loaded
        self._begin = time.perf_counter()
        self._said = -math.inf
        self._pulse_s = min(_PULSE_S, job.trials[0].options.timeout_s / 4)

    def result(self) -> ContestDone:
        errors: list[float] = []
        each: list[float] = []
        exact: list[float] = []
        block_ms = self._job.rules.block_ms
        for i, candidate in enumerate(self._loaded):
            self._turn(i)
            first_ms, error, text = candidate.check()
            if text:
                self._runner.forget(self._job.trials[i].key)
                wrong = Measurement(status="wrong_answer", error=text, run_s=self._seconds(), max_rel_error=error)
                return _without(i, len(self._loaded), wrong)
            errors.append(error)
            if (ms := candidate.device_ms) is not None:
                exact.append(ms)
                continue
            each.append(_one_call(candidate.timer, first_ms, block_ms))
        if exact:
            return ContestDone(tuple(self._counted(ms, error) for ms, error in zip(exact, errors, strict=True)))
        stretch = common_stretch(each)
        timers = [candidate.timer for candidate in self._loaded]
        blocks = [_ParticipantBlocks(t, self._watch, ms, stretch, block_ms) for t, ms in zip(timers, each, strict=True)]
        costs, quiet = play(lambda i: self._block(i, blocks[i]), len(blocks), self._job.rules)
        why_not = "" if quiet else self._watch.reason()
        right = Measurement(status="ok", run_s=self._seconds() / len(blocks), why_not=why_not)
        results = (
            replace(b.said(right), costs_ms=tuple(c), max_rel_error=error)
            for c, error, b in zip(costs, errors, blocks, strict=True)
        )
        return ContestDone(tuple(results))

    def _counted(self, ms: float, error: float) -> Measurement:
        """A device that counts its cycles says the same in every block."""
        blocks = (ms,) * self._job.rules.least
        return Measurement(
            status="ok", costs_ms=blocks, run_s=self._seconds(), max_rel_error=error, number=1, clock="cycles"
        )

    def _block(self, i: int, block: _ParticipantBlocks) -> tuple[float, bool, float]:
        """Return milliseconds per call, whether enough of them were undisturbed, and the milliseconds that passed."""
        begin = time.perf_counter()
        if self._job.telling:
            self._turn(i)
        elif begin - self._said > self._pulse_s:
            self._turn(EVERYBODY)
            self._said = begin
        begin = time.perf_counter()
        cost, clean = block.time()
        return cost, clean, (time.perf_counter() - begin) * 1e3

    def _seconds(self) -> float:
        return time.perf_counter() - self._begin


def _one_call(timer: Timer, first_ms: float, block_ms: float) -> float:
    """Milliseconds that one call takes; where something is evicted before it, with the time for that."""
    if timer.flushes:
        begin = time.perf_counter()
        timer.run(1, 1)
        return (time.perf_counter() - begin) * 1e3
    if first_ms > 4 * block_ms:
        return first_ms
    return max(statistics.median(timer.run(1 if first_ms > block_ms else 3, 1)), 1e-6)


def common_stretch(each: Sequence[float]) -> float:
    """Milliseconds of a stretch for participants of which one call takes so long.

    Those that are close to the fastest one get equal stretches, and so equally many in a block: of two kernels that are
    the same, the one with more of them would find a faster one among them.
    """
    return max(_STRETCH_MS, *(ms for ms in each if ms <= _CLOSE * min(each)))


class _ParticipantBlocks:
    """Blocks of one participant: all of the same number of calls.

    Parameters
    ----------
    each, stretch, block_ms : float
        Milliseconds of one call, of a stretch, and of a block.
    """

    def __init__(self, timer: Timer, watch: Interference, each: float, stretch: float, block_ms: float) -> None:
        self.timer, self._watch, self._block_ms = timer, watch, block_ms
        self.disturbed, self.at_least_ms = 0, 0.0
        self.number = 1 if timer.flushes else max(1, round(stretch / each))
        stretch = max(stretch, each)
        least = _STRETCHES if stretch <= block_ms and not timer.flushes else 1
        self.count = max(least, round(0.75 * block_ms / stretch))
        # What is evicted needs no warming, and so long a call warms itself.
        warm = not timer.flushes and each <= 4 * block_ms
        self.skip = max(1, round(block_ms / 4 / stretch)) if warm else 0

    def said(self, of: Measurement) -> Measurement:
        """A measurement with what is known of the blocks."""
        clock, least = self.timer.clock, self.at_least_ms
        return replace(of, number=self.number, clock=clock, disturbed=self.disturbed, at_least_ms=least)

    def time(self) -> tuple[float, bool]:
        """Run a block; return milliseconds per call, of a stretch that few others were faster than.

        Also returns whether that is said by stretches which nobody disturbed.
        """
        self._watch.begin()
        found = self.timer.repetitions(self._watch)
        if self.skip:
            found.add(self.timer.run(self.skip, self.number), self.number)
            found.forget()
        end = time.perf_counter() + _LONGEST * self._block_ms * 1e-3
        while len(found.clean) < self.count and len(found) < _PATIENCE * self.count:
            if found.noisy and time.perf_counter() > end:
                break
            found.add(self.timer.run(1, self.number), self.number)
        self.disturbed += len(found.noisy)
        if found.at_least_ms:
            self.at_least_ms = min(self.at_least_ms or math.inf, found.at_least_ms)
        enough = len(found.clean) >= min(_STRETCHES, self.count)
        times = found.clean if enough else found.noisy + found.clean
        return min(times) if len(times) < 3 else statistics.quantiles(times, n=4, method="inclusive")[0], enough

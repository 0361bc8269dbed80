"""One round of one task: propose, measure, compare, learn, write down."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.errors import TuneError, WorkbenchError
from workbench.log import Comparison, Round
from workbench.log.lines import INSIDE
from workbench.log.record import digits
from workbench.runtime.results.comparison_words import SURE, as_fast, how_sure
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measure_options import BRIEF, ContestRules
from workbench.runtime.results.measurement import Measurement
from workbench.tune.constants import Comparisons, Faults
from workbench.tune.plan.task_searches import TaskSearches
from workbench.tune.plan.tune_context import GivenCandidate
from workbench.tune.state.log_recorder import LogRecorder, comparison_line, trial_line
from workbench.tune.state.run_state import RunState
from workbench.tune.state.task_scheduler import Terms
from workbench.tune.state.task_state import PLAY_OFF

if TYPE_CHECKING:
    from workbench.graph.tasks import Task
    from workbench.schedule import Schedule
    from workbench.tune.plan.run_plan import RunPlan
    from workbench.tune.state.session_control import SessionControl


class Rounds:
    """Runs rounds and play-offs.

    Parameters
    ----------
    going_on : callable
        Whether another trial may be made; waits while the session is paused.
    """

    def __init__(
        self,
        plan: RunPlan,
        run_state: RunState,
        recorder: LogRecorder,
        searches: TaskSearches,
        control: SessionControl,
        going_on: Callable[[], bool],
    ) -> None:
        self._plan, self._tasks, self._measurer, self._stamp = plan, plan.tasks, plan.measurer, plan.stamp
        self._run_state, self._scheduler, self._recorder = run_state, run_state.scheduler, recorder
        self._searches, self._context = searches, searches.context
        self._control, self._going_on = control, going_on
        self._number = 0
        self._silent = 0

    def run(self, index: int, count: int, ahead: Callable[[], None] | None = None) -> bool:
        """Run a round of up to `count` trials.

        Parameters
        ----------
        ahead : callable, optional
            Called once measuring has begun: proposes for another task meanwhile.

        Returns
        -------
        bool
            False when nothing was measured: the space is exhausted, the time is up, or the session was cancelled.
        """
        self._number = self._run_state.next_round
        terms = self._scheduler.terms(index)
        terms = replace(terms, reason=self._scheduler.why(index))
        self._confirm(index)  # what was left undecided when the run was killed, or a comparison failed
        began = time.monotonic()
        self._searches.of(index)  # now, while the workers may still be starting
        batch = self._candidates(index, count)
        asked = time.monotonic()
        if not batch:
            self._scheduler.exhaust(index)
            return False
        if not self._going_on():
            self._searches.take_back(index, batch)
            return False
        before = self._run_state.next_trial
        results = self._measure(index, batch, ahead)
        if results is None:
            return False
        tried = {candidate.key for candidate, _ in results}
        self._searches.take_back(index, [c for c in batch if c.key not in tried])
        if not self._heard(self._run_state.next_trial - before):
            return False
        self._confirm(index)
        measured = time.monotonic()
        if results:
            self._searches.tell(index, results)
        spent = (asked - began, measured - asked, time.monotonic() - measured)
        self._close(index, terms, self._run_state.next_trial - before, spent)
        return True

    def _heard(self, trials: int) -> bool:
        """Whether there were results; raise ``tune.no_results`` when none come however often they are asked for."""
        self._silent = 0 if trials else self._silent + 1
        if self._silent > Faults.SILENT_ROUNDS:
            hint = "the runner may have been cancelled or closed; see 'workbench doctor'"
            raise TuneError("tune.no_results", f"The runner gave no result in {self._silent} rounds", (), hint)
        return trials > 0

    # ---- proposing ----

    def _candidates(self, index: int, count: int) -> list[Any]:
        """Return new candidates: the default schedule first, then what was given by hand, then proposals."""
        task = self._tasks[index]
        seen = self._run_state.measured[task.key]
        batch: list[Any] = []
        key = f"default:{task.key}"
        if self._plan.baseline and key not in seen and self._untried(task):
            batch.append(GivenCandidate(key, "default"))
        batch += self._by_hand(index)
        batch = batch[: max(1, count)]
        attempts = 0
        while len(batch) < count and attempts < 3:
            fresh: list[Any] = []
            for candidate in self._searches.ask(index, count - len(batch)):
                if candidate.key not in seen and all(candidate.key != other.key for other in (*batch, *fresh)):
                    fresh.append(candidate)
            batch += fresh[: count - len(batch)]
            attempts = 0 if fresh and attempts == 0 else attempts + 1
        return batch

    def _untried(self, task: Task) -> bool:
        """Whether no run has tried anything of a task, whatever a person may have measured."""
        return all(r.origin == "manual" for r in self._run_state.records if r.task_key == task.key)

    def _by_hand(self, index: int) -> list[Any]:
        task = self._tasks[index]
        found: list[Any] = []
        requests = self._run_state.requests[task.key]
        for added in list(requests.added):
            space = self._searches.space(index)
            try:
                args = (added.get("variant", -1), added.get("row", {}), added.get("trace", ()))
                given = self._context.given(task, space, *args)
            except WorkbenchError as error:  # the log of another version
                self._recorder.tell("warning", f"a candidate by hand cannot be measured: {error.message}", task.name)
                self._recorder.drop(task.key, added)
                continue
            if given.key in self._run_state.measured[task.key]:  # when it was given, its key was another one
                self._recorder.drop(task.key, added)
            else:
                found.append(given)
        return found

    def _schedule(self, index: int, candidate: Any) -> Schedule:
        schedule: Schedule | None = getattr(candidate, "schedule", None)
        if schedule is not None:
            return schedule
        if candidate.variant < 0:
            return self._context.default(self._tasks[index])
        return self._searches.space(index).schedule(candidate)

    # ---- measuring ----

    def _measure(
        self, index: int, batch: Sequence[Any], ahead: Callable[[], None] | None
    ) -> list[tuple[Any, Measurement]] | None:
        """Measure and write down; None when the session was cancelled meanwhile."""
        results: list[tuple[Any, Measurement]] = []
        ready: list[tuple[Any, Schedule]] = []
        broken: list[tuple[Any, str]] = []
        best_ms = self._scheduler.states[index].best_ms
        stream = self._measurer.measure(self._tasks[index], self._schedules(index, batch, ready, broken), best_ms)
        try:
            if ahead is not None:
                ahead()
            for position, measurement in stream:
                candidate, schedule = ready[position]
                if self._control.cancelled:
                    return None
                if measurement.status == "cancelled":  # the runner gave up; what it has measured counts
                    break
                self._add(index, candidate, schedule, measurement)
                if not isinstance(candidate, GivenCandidate):
                    results.append((candidate, measurement))
                if not self._going_on():
                    break
        finally:
            close = getattr(stream, "close", None)
            if close is not None:
                close()
        for candidate, text in broken:
            self._add(index, candidate, None, None, text)
            if not isinstance(candidate, GivenCandidate):
                results.append((candidate, Measurement(status="build_error", error=text)))
        return results

    def _schedules(
        self, index: int, batch: Sequence[Any], ready: list[tuple[Any, Schedule]], broken: list[tuple[Any, str]]
    ) -> Iterator[Schedule]:
        """Make the candidates' schedules as the builders ask for them, in the runner's thread."""
        for candidate in batch:
            try:
                schedule = self._schedule(index, candidate)
            except Exception:  # a template of the user's own may raise anything; its text is the trial's
                broken.append((candidate, traceback.format_exc()))
                continue
            ready.append((candidate, schedule))
            yield schedule

    def _add(
        self, index: int, candidate: Any, schedule: Schedule | None, measurement: Measurement | None, error: str = ""
    ) -> None:
        task, number = self._tasks[index], self._run_state.next_trial
        if isinstance(candidate, GivenCandidate) and schedule is not None:
            candidate = self._judged(task, candidate, schedule)
        record = trial_line(
            task,
            candidate,
            schedule,
            measurement,
            self._stamp,
            error=error,
            trial=number,
            round=self._number,
            space=self._searches.space(index).id if candidate.variant >= 0 else "",
            model=candidate.model,
            elapsed_s=round(self._recorder.elapsed(), 4),
        )
        claimed = self._recorder.write(record)
        if schedule is not None and record.ok:
            self._searches.of(index).schedules[number] = schedule
        self._recorder.tell("trial", "", task.name, record=record)
        if claimed:
            self._tell_best(index)
        if isinstance(candidate, GivenCandidate) and candidate.origin != "default":
            self._searches.learn(index, record)

    def _judged(self, task: Task, given: GivenCandidate, schedule: Schedule) -> GivenCandidate:
        """Let the model say what it thinks of a candidate that no search has proposed, before it learns from it."""
        try:
            version = self._context.model_version()
            score = self._context.predicted(task, schedule)
        except WorkbenchError as error:
            self._recorder.tell("warning", f"no prediction for a candidate by hand: {error.message}", task.name)
            return given
        return given if score is None else replace(given, predicted=score, model=version)

    def _tell_best(self, index: int) -> None:
        state = self._scheduler.states[index]
        record = self._run_state.trial(state.champion)
        self._recorder.tell("best", f"{state.best_ms:.4f} ms", self._tasks[index].name, record=record)

    # ---- comparing ----

    def _confirm(self, index: int) -> None:
        """Let the round's best trials challenge the champion."""
        state = self._scheduler.states[index]
        challengers = state.challengers(Comparisons.CHALLENGERS)
        near = [t for t in challengers if state.pending[t] <= Comparisons.CLOSE * state.pending[challengers[0]]]
        if near and not self._control.cancelled:
            self._contest(index, [state.champion, *near], "new best", BRIEF)
        kept = {state.champion, *state.challengers(Comparisons.CHALLENGERS)}
        task_search = self._searches.of(index)
        task_search.schedules = {n: s for n, s in task_search.schedules.items() if n in kept}

    def play_off(self, index: int) -> None:
        """Let the task's best trials that were not compared yet run against its champion; and all of them against the
        default schedule where nothing has won against that: what is no faster does not take its place.
        """
        state = self._scheduler.states[index]
        most = Comparisons.FINALISTS - 1
        pending = state.challengers(most)
        rivals = [*pending, *(t for t in state.rivals(most) if t not in pending)][:most]
        if not rivals and state.ledger.best is not None and state.ledger.best.sure == "disturbed":
            rivals = state.others(1)  # so that its time is known at all
        first = state.champion
        if state.unbeaten is not None:
            first = state.unbeaten
            rivals = [state.champion, *(t for t in rivals if t != first)][:most]
        if rivals:
            self._number = max(0, self._run_state.next_round - 1)
            self._contest(index, [first, *rivals], PLAY_OFF, ContestRules())

    def _contest(self, index: int, trials: Sequence[int], reason: str, rules: ContestRules) -> None:
        """Time trials in turns: each of the others has to win against the first one."""
        task = self._tasks[index]
        try:
            schedules = [self._schedule_of(index, trial) for trial in trials]
            contest = self._measurer.compare(task, schedules, rules)
        except WorkbenchError as error:
            self._recorder.tell("warning", f"no comparison of its fastest: {error.message} [{error.code}]", task.name)
            return
        if contest.status == "cancelled" or self._control.cancelled:
            return
        self._conclude(index, trials, contest, reason)

    def inside(self, index: int, trials: Sequence[int], contest: Contest) -> None:
        """Take in which of the task's last candidates is the fastest inside the network."""
        self._number = max(0, self._run_state.next_round - 1)
        self._conclude(index, trials, contest, INSIDE)

    def _conclude(self, index: int, trials: Sequence[int], contest: Contest, reason: str) -> None:
        task, elapsed = self._tasks[index], round(self._recorder.elapsed(), 4)
        line = comparison_line(task, trials, contest, reason, self._stamp, round=self._number, elapsed_s=elapsed)
        if line is None:
            why = contest.error or contest.why_not or contest.status.replace("_", " ")
            self._recorder.tell("warning", f"no comparison of its fastest: {why}", task.name)
            return
        claimed = self._recorder.write(line)
        self._searches.compared(index, line)
        self._recorder.tell("compare", verdict(line), task.name, record=self._run_state.trial(line.winner), line=line)
        if claimed:
            self._tell_best(index)

    def _schedule_of(self, index: int, trial: int) -> Schedule:
        task_search = self._searches.of(index)
        if trial not in task_search.schedules:
            record = self._run_state.trial(trial)
            assert record is not None
            task_search.schedules[trial] = self._context.schedule(self._tasks[index], record)
        return task_search.schedules[trial]

    # ---- the round's own line ----

    def _close(self, index: int, terms: Terms, trials: int, spent: tuple[float, float, float]) -> None:
        task, state, quality = self._tasks[index], self._scheduler.states[index], self._quality(index)
        line = Round(
            round=self._number,
            task_key=task.key,
            task=task.name,
            trials=trials,
            best_ms=state.ledger.best.ms if state.ledger.best else None,
            total_ms=finite(self._scheduler.total_ms),
            reason=terms.reason,
            gain=finite(terms.gain),
            backward=finite(terms.backward),
            optimism=finite(terms.optimism),
            similarity=finite(terms.similarity),
            epsilon=self._run_state.epsilon,
            tau=finite(getattr(quality, "tau", None)),
            spearman=finite(getattr(quality, "spearman", None)),
            model=self._context.model_version(),
            ask_s=round(spent[0], 4),
            measure_s=round(spent[1], 4),
            tell_s=round(spent[2], 4),
            elapsed_s=round(self._recorder.elapsed(), 4),
            timestamp=round(time.time(), 4),
        )
        self._recorder.write(line)
        self._recorder.tell("round", f"{trials} trials: {terms.reason}", task.name, line=line)

    def _quality(self, index: int) -> Any:
        return getattr(self._searches.of(index).search, "quality", None)


def finite(value: float | None) -> float | None:
    """Return a number as the log can hold it."""
    return digits(value) if value is not None and math.isfinite(value) else None


def verdict(line: Comparison) -> str:
    """Say in a sentence what a comparison showed."""
    others = [str(trial) for trial in line.trials[1:]]
    who = " and ".join(part for part in (", ".join(others[:-1]), others[-1]) if part)
    told = f"trial{'s' if len(others) > 1 else ''} {who} against trial {line.trials[0]}"
    if line.confidence is None or line.ratio is None:
        return f"{told}: trial {line.winner} stays the best" if not line.new_best else f"{told}: {line.winner} wins"
    speed = as_fast(line.ratio)
    if line.new_best:
        return f"{told}: {line.winner} is {speed}, {how_sure(line.confidence)}"
    if line.ratio < 1.0 and line.confidence < SURE:
        return f"{told}: undecided; the best of them seemed {speed}, only {how_sure(line.confidence)}"
    return f"{told}: lost; the best of them was {speed}"

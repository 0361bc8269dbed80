"""A tuning run without a search, a compiler or a clock of its own: trials as fast as a test wants them."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Sequence
from typing import Any

from workbench import Schedule
from workbench.errors import TuneError
from workbench.log import Command, Comparison, NetworkTime, Record, Round
from workbench.log.record import speed
from workbench.log.weighted_latency import total
from workbench.schedule.primitive import from_json
from workbench.tune.plan.task_selection import position
from workbench.tune.run.tuning_session import TuningSession
from workbench.tune.state.events import FINAL, Event, EventBus, Progress, Snapshot, TaskRow
from workbench.tune.state.run_state import TaskRequests
from workbench.tune.state.task_scheduler import Terms

WRONG = ("build_error", "run_error", "wrong_answer", "timeout")


class FakeTuning(TuningSession):
    """What a session and a widget see of a run; `feed` or `start` bring its trials.

    Latencies fall towards a floor, one trial in twenty fails, predictions are right up to noise, and every trial has a
    trace that can be opened. All of it follows from `seed`.

    Parameters
    ----------
    tasks : sequence of Task
    trials : int, optional
        Where the run ends by itself.
    rate : float
        Trials a second of `start`.
    batch : int
        Trials of a round.
    cycles_per_ms : float
        What predictions are told in.
    """

    def __init__(
        self, tasks: Sequence[Any], *, trials: int | None = None, rate: float = 100.0, batch: int = 16, seed: int = 0,
        log: str | None = None, cycles_per_ms: float = 2e6,
    ) -> None:  # fmt: skip
        self.tasks, self.log, self.repaired = tuple(tasks), log, None
        self.events = EventBus()
        self.limit, self.rate, self.batch, self.cycles_per_ms = trials, rate, batch, cycles_per_ms
        self._random = random.Random(seed)
        self._records: list[Record] = []
        self._lines: list[Record | Comparison | NetworkTime] = []
        self._comparisons: list[Comparison] = []
        self._rounds: list[Round] = []
        self._commands: list[Command] = []
        self._state = "idle"
        self._error: BaseException | None = None
        self._ended, self._going, self._lock = threading.Event(), threading.Event(), threading.RLock()
        self._asked = self._asked_to_end = False
        self._thread: threading.Thread | None = None
        self._best: list[Record | None] = [None] * len(self.tasks)
        self._counts = [[0, 0] for _ in self.tasks]
        self._spent, self._compared = [0] * len(self.tasks), [0] * len(self.tasks)
        self._untuned: list[float | None] = [None] * len(self.tasks)
        self._current = 0
        self._traces = [_traces(t) for t in self.tasks]
        self._floor = [0.01 * (1 + k) for k in range(len(self.tasks))]

    # ----- life

    @property
    def state(self) -> Any:
        return self._state

    @property
    def on_hold(self) -> bool:
        return self._state == "paused" and not self._asked

    def start(self) -> FakeTuning:
        """Let the trials come, `rate` a second."""
        if self._thread is not None or self._state not in ("idle", "running"):
            return self.resume()
        if self._state == "idle":
            self._turn("running")
        self._thread = threading.Thread(target=self._run, name="fake-tuning", daemon=True)
        self._thread.start()
        return self

    def feed(self, n: int = 1) -> FakeTuning:
        """Bring `n` trials now, in the caller's thread; from "idle" the run becomes "running"."""
        if self._state == "idle":
            self._turn("running")
        for _ in range(n):
            self._trial()
        return self

    def end(self, state: str = "done", error: BaseException | None = None) -> None:
        """End the run: "done", "cancelled" or "failed"."""
        with self._lock:
            if self._state in FINAL:
                return
            if len(self._records) % self.batch:
                self._end_round()
            self._error = error
            self._turn(state)
            self._going.set()
            self._ended.set()
            self.events.close()

    def wait(self, timeout: float | None = None) -> bool:
        if not self._ended.wait(timeout):
            return False
        if self._error is not None:
            raise TuneError("tune.failed", f"Tuning failed: {self._error}")
        return True

    def join(self, timeout: float | None = None) -> bool:
        return self._ended.wait(timeout)

    def hold(self, on: bool) -> None:
        if on or not self._asked:
            self._move("hold" if on else "release")

    def steer(self, name: str, *, source: str = "python", **args: Any) -> Command:
        if self._state in FINAL:
            raise TuneError("steer.ended", f"The session has ended ({self._state})", [name])
        line = Command(name=name, args=args, source=source, elapsed_s=self._elapsed(), timestamp=time.time())
        self._commands.append(line)
        if name in ("pause", "resume"):
            self._asked = name == "pause"
        if name in ("pause", "resume", "stop", "cancel"):
            self._move(name)
        self.events.publish(Event("command", line.elapsed_s, name, line=line))
        return line

    def _move(self, how: str) -> None:
        with self._lock:
            if how in ("pause", "hold") and self._state == "running":
                self._turn("paused")
            elif how in ("resume", "release") and self._state == "paused":
                self._turn("running")
            elif how in ("stop", "cancel"):
                self._asked_to_end = True
                self.end("done" if how == "stop" else "cancelled")

    def _turn(self, state: str) -> None:
        self._state = state
        (self._going.set if state == "running" else self._going.clear)()
        self.events.publish(Event("state", self._elapsed(), state))

    def _run(self) -> None:
        began, brought = time.monotonic(), 0
        while self._state not in FINAL:
            if self.limit is not None and len(self._records) >= self.limit:
                self.end()
            elif self._state == "paused":
                self._going.wait()
                began, brought = time.monotonic(), 0
            elif (rest := brought / self.rate - (time.monotonic() - began)) > 0:
                self._ended.wait(rest)
            else:
                self._trial()
                brought += 1

    # ----- what it brings

    def _elapsed(self) -> float:
        return len(self._records) / self.rate

    def _trial(self) -> None:
        with self._lock:
            if self._state in FINAL:
                return
            record = self._next()
            self._records.append(record)
            self._lines.append(record)
            self._counts[self._current][0] += 1
            self.events.publish(Event("trial", self._elapsed(), task=record.task, record=record))
            if not record.ok:
                self._counts[self._current][1] += 1
            else:
                self._judge(record)
            if len(self._records) % self.batch == 0:
                self._end_round()

    def _next(self) -> Record:
        k, rng, n = self._current, self._random, self._counts[self._current][0]
        task = self.tasks[k]
        trace = self._traces[k][n % len(self._traces[k])]
        common = {
            "task_key": task.key, "task": task.name, "trial": len(self._records), "target": str(task.target),
            "weight": task.weight, "flops": task.flops, "round": len(self._rounds), "trace": trace,
            "key": f"{k}-{n}", "origin": "default" if not n else rng.choice(("sketch", "mutation", "random")),
            "elapsed_s": self._elapsed(), "timestamp": float(len(self._records)),
        }  # fmt: skip
        if n and rng.random() < 0.05:
            return Record(status=rng.choice(WRONG), error="it did not work", **common)
        ms = self._floor[k] * (1.0 + (3.0 * math.exp(-n / 200) + 0.05) * rng.random())
        told = math.log2(max(1, task.flops) / (ms * self.cycles_per_ms)) + rng.gauss(0, 0.2)
        spread = 0.02
        return Record(status="ok", latency_ms=ms, spread=spread, costs_ms=(ms,), predicted=told if n else None,
                      model="fake-1" if n else None, **common)  # fmt: skip

    def _judge(self, record: Record) -> None:
        """A trial that is faster than the best meets it in a comparison, and wins."""
        best = self._best[self._current]
        if record.origin == "default":
            self._untuned[self._current] = record.latency_ms
        if best is not None and record.latency_ms >= best.latency_ms:
            return
        self._best[self._current] = record
        if best is not None:
            line = Comparison(
                task_key=record.task_key, task=record.task, round=record.round, trials=(best.trial, record.trial),
                latency_ms=(best.latency_ms, record.latency_ms), winner=record.trial, reason="new best",
                confidence=0.99, ratio=record.latency_ms / best.latency_ms, elapsed_s=self._elapsed(),
                timestamp=record.timestamp + 0.5,
            )  # fmt: skip
            self._comparisons.append(line)
            self._lines.append(line)
            self._compared[self._current] += 1
            self.events.publish(Event("compare", self._elapsed(), "won", record.task, line=line))
        self.events.publish(Event("best", self._elapsed(), task=record.task, record=record))

    def _end_round(self) -> None:
        k = self._current
        terms, best = self.terms(k), self._best[k]
        line = Round(
            round=len(self._rounds), task_key=self.tasks[k].key, task=self.tasks[k].name,
            trials=len(self._records) % self.batch or self.batch, best_ms=best.latency_ms if best else None,
            total_ms=self.snapshot().total_ms, reason=terms.reason, gain=terms.gain, backward=terms.backward,
            optimism=terms.optimism, similarity=terms.similarity, epsilon=0.05, tau=0.7, spearman=0.85,
            model="fake-1", elapsed_s=self._elapsed(), timestamp=float(len(self._records)),
        )  # fmt: skip
        self._rounds.append(line)
        self._spent[k] += 1
        self._current = max(range(len(self.tasks)), key=lambda i: self.terms(i).gain)
        self.events.publish(Event("round", self._elapsed(), task=line.task, line=line))

    # ----- what it says

    @property
    def lines(self) -> tuple[Record | Comparison | NetworkTime, ...]:
        return tuple(self._lines)

    @property
    def records(self) -> tuple[Record, ...]:
        return tuple(self._records)

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        return tuple(self._comparisons)

    @property
    def rounds(self) -> tuple[Round, ...]:
        return tuple(self._rounds)

    @property
    def steered(self) -> tuple[Command, ...]:
        return tuple(self._commands)

    @property
    def new_trials(self) -> int:
        return len(self._records)

    @property
    def random_share(self) -> float:
        return 0.05

    @property
    def failure(self) -> BaseException | None:
        return self._error

    @property
    def progress(self) -> Progress:
        return self.snapshot().progress

    def time_network(self, ms: float, clean: bool = True) -> NetworkTime:
        """Let the whole network be measured."""
        line = NetworkTime(
            measured_ms=ms, untuned_ms=2.0 * ms, sum_of_kernels_ms=self.snapshot().total_ms, clean=clean,
            alone_ms={task.key: 0.1 for task in self.tasks}, trials=len(self._records), reason="kernels became faster",
            target=self._records[-1].target, elapsed_s=self._elapsed(), timestamp=float(len(self._records)),
        )  # fmt: skip
        self._lines.append(line)
        self.events.publish(Event("network", self._elapsed(), "measured"))
        return line

    def network(self) -> NetworkTime | None:
        return next((line for line in reversed(self._lines) if isinstance(line, NetworkTime)), None)

    def held(self, task: Any = None) -> TaskRequests:
        return TaskRequests()

    def terms(self, task: Any = None) -> Terms:
        """Gains that shrink with every round of a task, so that all of them get their turn."""
        k = 0 if task is None else position(self.tasks, getattr(task, "key", task))
        rounds, weight = self._spent[k], self.tasks[k].weight
        optimism = self._floor[k] / (1 + rounds)
        backward, similarity = optimism / 2, optimism / 4
        words = "it was hardly tried" if rounds < 3 else "trials still pay"
        return Terms(backward, optimism, similarity, weight * (0.5 * backward + 0.5 * optimism), words)

    def snapshot(self) -> Snapshot:
        with self._lock:
            rows = tuple(self._row(k) for k in range(len(self.tasks)))
            done, limit = len(self._records), self.limit
            final = self._state in FINAL
            left = None if limit is None else max(0, limit - done) / self.rate
            end = {"done": "budget", "cancelled": "cancelled", "failed": "failed"}.get(self._state, "")
            end = "stopped" if self._asked_to_end and end == "budget" else end
            part = 1.0 if end == "budget" else 0.0 if limit is None else min(1.0, done / limit)
            progress = Progress(done, limit, self._elapsed(), 0.0 if final else left, part, self.rate)
            now = total([(r.weight, r.latency_ms) for r in rows])
            before = total([(r.weight, r.untuned_ms) for r in rows])
            return Snapshot(self._state, rows, progress, now, before, None if final else self._current, end)

    def _row(self, k: int) -> TaskRow:
        task, best = self.tasks[k], self._best[k]
        trials, failed = self._counts[k]
        ms = best.latency_ms if best else None
        word = "tuning" if k == self._current and self._state == "running" else "waiting"
        return TaskRow(
            k, task.key, task.name, task.weight, ms, speed(task.flops, ms), trials, failed, self._untuned[k], word,
            self.terms(k).reason, spread=0.02 if best else None, confidence=0.99 if best else None,
            compared=self._compared[k], quality=0.85 if trials > 3 else None, trial=best.trial if best else None,
            origin=best.origin if best else "", rounds=self._spent[k],
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<fake run: {self._state}, {len(self._records)} trials>"


def _traces(task: Any) -> list[tuple[Any, ...]]:
    """Traces that apply to a task: its first loops split by each of their divisors."""
    out: list[tuple[Any, ...]] = [()]
    first = Schedule(task.func, task.target)
    for loop in first.loops[:2]:
        for d in (d for d in range(2, loop.extent) if loop.extent % d == 0):
            step = from_json({"primitive": "split", "args": {"loop": loop.name, "factors": [None, d]}})
            one = first.copy()
            one.apply(step)
            out.append(tuple(one.to_json()))
    return out

"""What a session works on: the state behind the slices. Only the session's thread changes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from workbench.errors import UsageError, WorkbenchError
from workbench.graph.tasks import Task
from workbench.intrinsics.product_instructions import instruction
from workbench.ir.product_type import PLAIN, product_type
from workbench.log import Best, Record, TaskLedger
from workbench.log.replay import schedule_of
from workbench.runtime.machine.measured_roofline import all_threads
from workbench.runtime.machine.system_load import Load
from workbench.runtime.results.contest import Contest
from workbench.schedule import Schedule
from workbench.session.core.notifications import NO_PROGRAM_HINT, note
from workbench.session.state.chart_choice import ChartChoice, known_roofs
from workbench.session.state.estimates import Estimates
from workbench.session.state.history import MOST, History, View
from workbench.session.state.manual_trials import ManualTrials
from workbench.session.state.model_drawings import Drawings
from workbench.session.state.network_runs import Shown
from workbench.session.state.results import Key, Result
from workbench.session.state.roofline_points import Intensities
from workbench.session.state.session_input import SessionInput, TaskInfo
from workbench.session.state.statistics import Statistics
from workbench.session.state.task_costs import at_first, settle
from workbench.session.state.task_lines import lines_of, recall_contests, trials_of
from workbench.session.state.told_times import ToldTimes
from workbench.session.state.trial_origin import BY, origin, to_recall
from workbench.session.state.tuning_watch import TuningWatch
from workbench.session.state.variant_tree import Tree, TreeNode, keys_of
from workbench.session.state.work_progress import WorkProgress
from workbench.tune.plan.measurer import constants_of
from workbench.tune.plan.task_selection import position
from workbench.tune.run.tuning_session import TuningSession


class SessionState:
    """The schedules, the selection, what was measured and what was tuned.

    Parameters
    ----------
    moved : callable
        Called, from any thread, when the schedule on show has changed.
    tuned : callable
        Called, from the tuning thread, with whether it is urgent, when the tuning run has news.
    """

    def __init__(
        self,
        opened: SessionInput,
        log: str | None,
        auto: bool,
        moved: Callable[[], object],
        tuned: Callable[[bool], object],
    ) -> None:
        self.opened, self.log, self.auto = opened, log, auto
        self.target = opened.target
        self.infos = opened.tasks
        #: Where everything that is timed here finds its constants: as a run of the whole model does.
        self.constants = constants_of([t.task for t in opened.tasks if t.task is not None], opened.target)
        #: What can be looked at of the model; None where there is none.
        self.drawings: Drawings | None = None
        if opened.graph is not None:
            self.drawings = Drawings(opened.graph, [t.task for t in opened.tasks if t.task is not None])
        self.history, self.stats = History(), Statistics()
        self._told = ToldTimes(self.history)
        model = opened.graph.name if opened.graph is not None else ""
        self.manual_trials = ManualTrials(opened.tasks, model, self.target, self.constants)
        self.estimates = Estimates(self.history, self.target, self.constants)
        self.intensities = Intensities(self.target)
        self.chart, self.roofs = ChartChoice(), known_roofs(self.target)
        self.precisions: WorkProgress[dict[str, Any]] = WorkProgress()
        self.runs: WorkProgress[tuple[Shown, ...]] = WorkProgress()
        self.lengths: WorkProgress[dict[str, Any]] = WorkProgress()
        self.without: WorkProgress[dict[str, Any]] = WorkProgress()
        self.compared: WorkProgress[Any] = WorkProgress()
        self.retargeting: WorkProgress[None] = WorkProgress()
        self.stats.add(opened.lines)
        self.peak = self.target.stored_peak()
        self.peak_of_all, self.peak_measured = all_threads(self.target)
        #: What each task multiplies, and the peaks of those types that have an instruction (None: not measured yet).
        self.products: list[str] = []
        self.peaks: dict[str, float | None] = {}
        for info in opened.tasks:
            self._know(info)
        self.selected = ""
        #: Whether another schedule is shown than a moment ago, so that something has to be selected first.
        self.fresh = True
        #: Names that the last step made.
        self.made: tuple[str, ...] = ()
        self.note: dict[str, Any] | None = None
        #: How busy the machine is, while somebody looks and nothing is measured.
        self.load: Load | None = None
        #: Where a measurement stands, in a queue of several users; "" when it is its turn.
        self.in_line = ""
        #: Called in the session's thread whenever something may have changed.
        self.onlookers: list[Callable[[], object]] = []
        #: State -> "measuring" or "queued".
        self.doing: dict[Key, str] = {}
        self.watch: TuningWatch | None = None
        #: Task -> how its tree was when what was made by hand had come back from the log.
        self.recalled: dict[int, int] = {}
        self.index: int | None = None
        self.schedule: Schedule | None = None
        self._cursors: dict[int, Schedule] = {}
        self._moved, self._tuned = moved, tuned
        self._unwatch: Callable[[], None] = lambda: None
        if opened.schedule is not None:
            self._cursors[0] = opened.schedule
        if opened.tuning is not None:
            self.attach(opened.tuning, "all" if len(self.infos) > 1 else "task")
        #: Whether somebody has gone on from what is shown first, so that nothing else takes its place.
        self.begun = opened.schedule is not None or len(self.infos) < 2
        if self.infos:
            self.open_task(at_first(self))
            settle(self)

    def time_with(self, constants: str) -> None:
        """Find constants where another session found them, so that times compare; before anything is timed here."""
        model = self.opened.graph.name if self.opened.graph is not None else ""
        self.constants = constants
        self.manual_trials = ManualTrials(self.infos, model, self.target, constants)
        self.estimates = Estimates(self.history, self.target, constants)
        self.history.estimates.clear()

    # ----- the schedule on show

    @property
    def task(self) -> Task | None:
        """The task on show."""
        return None if self.index is None else self.infos[self.index].task

    def view(self) -> View | None:
        """Look at the schedule on show, after its tree has followed it."""
        if self.index is None or self.schedule is None:
            return None
        copy = self.schedule.copy()
        tree = self.history.tree(self.index, copy)
        node = tree.follow(copy)
        if (gone := self.history.prune(tree)) and gone == self.history.hidden[self.index]:
            text = f"More than {MOST} variants: the oldest that nobody measured, named or starred are let go"
            self.note = note("info", text, "session.forgotten", "name or star what is to stay")
        return View.of(self.index, copy, node)

    @property
    def tree(self) -> Tree:
        """The variants of the task on show.

        Raises
        ------
        UsageError
            "session.no_program" when nothing is on show that has any.
        """
        if self.view() is None:
            raise UsageError("session.no_program", "There is no schedule on show", (), NO_PROGRAM_HINT)
        assert self.index is not None
        return self.history.trees[self.index]

    def variant(self, node: object = None) -> TreeNode:
        """Return a variant of the task on show by its number; that on show for None.

        Raises
        ------
        UsageError
            "session.variant" when there is none of this number; "session.no_program".
        """
        tree = self.tree
        return tree.node(tree.at if node is None else node)

    def go(self, node: int, afresh: bool = False) -> None:
        """Move the schedule on show to a variant of its task; `afresh`, so that there is nothing to redo."""
        tree, schedule = self.tree, self.schedule
        assert schedule is not None
        key = tree.node(node).key
        now = schedule.copy()  # somebody else may move it meanwhile
        keys, at = keys_of(tree.task, now), len(now.trace)
        if key in keys and not afresh and tree.single_steps(tree.at, node):  # Python may take them again
            there = keys.index(key)
            schedule.undo(max(0, at - there)).redo(max(0, there - at))
        else:
            schedule.go_to(tree.node(node).schedule)
        tree.visit(node)
        if afresh:
            tree.node(node).last_child = None

    def forget(self, node: TreeNode) -> None:
        """Let a variant of the task on show go; raises what `Tree.forget` does."""
        tree, schedule = self.tree, self.schedule
        assert schedule is not None
        self.history.forget(tree, node.id)
        now = schedule.copy()
        if node.key in keys_of(tree.task, now)[len(now.trace) + 1 :]:  # else it would come back as what can be redone
            schedule.go_to(now)

    def peak_for(self, index: int | None) -> float | None:
        """Peak of all threads for what a task multiplies, in GFLOP/s; None where it was not measured."""
        product = PLAIN if index is None else self.products[index]
        return self.peaks.get(product, self.peak_of_all)

    def open_task(self, item: object) -> None:
        """Show a task, as it was when it was left."""
        index = self.find(item)
        if index == self.index:
            return
        task = self.infos[index].task
        if task is not None and index not in self._cursors:
            self._cursors[index] = Schedule(task, task.target or self.target)
        self.index = index
        self._show(self._cursors.get(index))
        if index not in self.recalled:
            self.recall()

    def recall(self) -> None:
        """Hang the schedules by hand of the task on show on its tree, and the default one with them; go to none."""
        if self.index is None or self.schedule is None or (task := self.task) is None:
            return
        tree = self.history.tree(self.index, self.schedule.copy())
        for record in to_recall(self.stats.records, task.key):
            try:
                schedule = schedule_of(task, record)
            except WorkbenchError:  # the log was written for another program, or by another version
                continue
            schedule.target = task.target or self.target
            self.hang(tree, schedule, record)
        self.recalled.setdefault(self.index, tree.changes)

    def add_task(self, task: Task) -> int:
        """Make a task known that was not part of the subject; returns its number, as for one that is known."""
        for index, known in enumerate(self.infos):
            if known.key == task.key:
                return index
        self.infos = (*self.infos, info := TaskInfo.of(task))
        self._know(info)
        return len(self.infos) - 1

    def _know(self, info: TaskInfo) -> None:
        """Take note of what a task multiplies."""
        product = PLAIN if info.task is None else product_type(info.task.func)
        self.products.append(product)
        if product not in self.peaks and instruction(self.target, product) is not None:
            self.peaks[product] = all_threads(self.target, product)[0]

    def find(self, item: object) -> int:
        """Return the number of a task given by number, key or name; that on show for None."""
        if item is None and self.index is not None:
            return self.index
        return position(self.infos, getattr(item, "key", item))  # type: ignore[arg-type]

    def _show(self, schedule: Schedule | None) -> None:
        self._unwatch()
        self._unwatch = lambda: None
        self.schedule = schedule
        self.selected, self.fresh = "", True
        if schedule is not None:
            self._unwatch = schedule.watch(self._moved)

    # ----- what is known of it

    def to_estimate(self) -> list[tuple[str, Callable[[], Callable[[], None]]]]:
        """Return the work, by its kind, that estimates what has no estimate yet: states of the task on show, its trials
        while the roofline shows them, and every task without tuning while it matters, because there are several and one
        of them has no time.
        """
        untimed = len(self.infos) > 1 and any(self.best(i) is None for i in range(len(self.infos)))
        tasks = [info.task for info in self.infos if info.task is not None] if untimed else []
        found = {
            "estimate": self.estimates.rest(self.index, self.peak),
            "estimate tasks": self.estimates.tasks(tasks, self.peak),
            "estimate trials": self.intensities.rest(self.task, self.stats.records) if self.chart.roofline else None,
        }
        return [(kind, work) for kind, work in found.items() if work is not None]

    def meet(self, keys: tuple[Key, Key], found: Contest | str) -> None:
        """Take in what came of timing two states against each other, or why nothing did."""
        self.manual_trials.compare(self.history.meet(keys, found))

    def trials_of(self, index: int) -> dict[Key, Record]:
        """Return the trial of each state of a task that has a time: one of the log, or with a number below 0."""
        return trials_of(index, self.infos[index], self.history, self.manual_trials)

    def ledger_of(self, index: int) -> TaskLedger:
        """Return what is known about a task: from its log, and what was measured and compared by hand."""
        info, known = self.infos[index], (self.history, self.manual_trials, self.stats.comparisons)
        return self.stats.also(info.key, lines_of(info, self.trials_of(index), *known))

    def best(self, index: int) -> Best | None:
        """Return the best of a task, whoever found it. Of several tasks, a time by hand that is in no log and more than
        the task should take without tuning is none: the network does not become slower by what somebody has tried.
        """
        best, key = self.ledger_of(index).best, self.infos[index].key
        if best is None or len(self.infos) == 1 or self.stats.of(key).best is not None:
            return best
        usual = self.estimates.untuned(key)
        return None if usual is not None and usual.ms and usual.ms < best.ms else best

    def tell(self) -> None:
        """See to it that every variant of the task on show has the time that is told of its program."""
        if (index := self.index) is not None and index in self.history.trees:
            recall_contests(index, self.infos[index], self.stats.comparisons, self.history, self.manual_trials)
            self._told.update(self.tree, self.ledger_of(index), self.trials_of(index))

    def node_of(self, index: int, record: Record) -> TreeNode | None:
        """Return the variant that has a trial's program; None where there is none."""
        ledger, tree = self.ledger_of(index), self.history.trees.get(index)
        wanted, known = ledger.of(record), self.trials_of(index).items() if tree is not None else ()
        same = [key for key, other in known if wanted and (one := ledger.of(other)) and one.record is wanted.record]
        return next((node for key in same if tree and (node := tree.find(key)) is not None), None)

    def traced(self, index: int, record: Record) -> Record | None:
        """Return a trial with its steps; None for one that another session has measured, if its variant was let go."""
        key = self.manual_trials.remembers(record)
        if key is None:
            return record
        node = self.history.trees[index].find(key)
        return None if node is None else replace(record, trace=tuple(node.schedule.to_json()), variant=-1)

    # ----- what the tuner found

    @property
    def log_now(self) -> str | None:
        """The log that a run wrote last, else the one that was given."""
        return (None if self.watch is None else self.watch.tuning.log) or self.log

    def attach(self, tuning: TuningSession, scope: str) -> None:
        """Follow a tuning run instead of the one before."""
        if self.watch is not None:
            self.watch.close()
        self.watch = TuningWatch(tuning, scope, self._tuned)
        self.stats.add(self.watch.fresh())

    def adopt(self, item: object, trial: int | None = None) -> None:
        """Show the best schedule of a task, or that of a trial: the variant that has it, else a branch."""
        index = self.find(item)
        if trial is None and (best := self.ledger_of(index).best) is not None:
            trial = best.record.trial if best.record.trial >= 0 else None
            if trial is None and (node := self.node_of(index, best.record)) is not None:
                self.open_task(index)
                return self.go(node.id)
        found, record = self.tuned(index, trial)
        self.open_task(index)
        self.go(self.hang(self.tree, found, record))
        self.selected, self.fresh = "", True

    def hang(self, tree: Tree, found: Schedule, record: Record) -> int:
        """Return the variant that has a trial's schedule, as it is, else a new one; it has the trial's time."""
        parent, edge, label = origin(tree, found, record, self._open_trials(record.task_key, tree))
        by = BY.get(record.origin, "tuner")
        node = tree.node(tree.add(parent, found, edge=edge, by=by, label=label, trial=record.trial))
        self.history.results[node.key] = Result.of_record(record, any(b.role == "const" for b in found.base.params))
        self.manual_trials.know(node.key, record)
        return node.id

    def tuned(self, index: int, trial: int | None = None) -> tuple[Schedule, Record]:
        """Return a task's best schedule in the log, or that of a trial, and its line."""
        info = self.infos[index]
        best = self.stats.of(info.key).best
        record = (None if best is None else best.record) if trial is None else self._trial(info.key, trial)
        if info.task is None:
            raise UsageError("session.no_program", "The log does not hold the program", (), NO_PROGRAM_HINT)
        if record is None:
            hint = "tune the task first, or read in the task table why its trials failed"
            raise UsageError("usage.nothing_measured", "No trial of this task was valid so far", [info.name], hint)
        found = schedule_of(info.task, record)
        found.target = info.task.target or self.target
        return found, record

    def _open_trials(self, key: str, tree: Tree) -> dict[int, str]:
        """Keys of the programs of the trials that are open."""
        trials = {node.trial for node in tree.nodes.values()}
        return {r.trial: r.key for r in self.stats.records if r.task_key == key and r.trial in trials and r.key}

    def task_of(self, trial: int) -> int | None:
        """Return which task a trial is of: that on show when it has one of this number, else the first that has."""
        keys = {r.task_key for r in self.stats.records if r.trial == trial}
        found = [i for i, info in enumerate(self.infos) if info.key in keys]
        return self.index if self.index in found or not found else found[0]

    def _trial(self, key: str, trial: int) -> Record:
        found = [r for r in self.stats.records if r.task_key == key and r.trial == trial]
        if not found:
            raise UsageError("session.trial", f"There is no trial {trial} of this task", (), "the log numbers them")
        if not found[-1].trace and not found[-1].ok:
            raise UsageError("session.trial", f"Trial {trial} has no schedule", (), "its program could not be made")
        return found[-1]

    def close(self) -> None:
        """Let go of what others own."""
        for work in (self.precisions, self.runs, self.lengths, self.without, self.compared):
            work.cancelled.set()
        self._unwatch()
        if self.watch is not None:
            self.watch.close()

"""How commands reach a session: checked, written down, carried out, one after the other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.arguments import shown
from workbench.errors import TuneError, UsageError, WorkbenchError
from workbench.log import Command
from workbench.tune.constants import Waiting
from workbench.tune.state.objective import objective_text
from workbench.tune.state.run_state import START
from workbench.tune.steer.commands import SteeringCommand, read_command
from workbench.tune.steer.control_file import Mailbox, Message

if TYPE_CHECKING:
    from workbench.tune.plan.run_plan import RunPlan
    from workbench.tune.plan.task_searches import TaskSearches
    from workbench.tune.plan.tune_context import GivenCandidate
    from workbench.tune.state.events import State
    from workbench.tune.state.log_recorder import LogRecorder
    from workbench.tune.state.run_state import RunState, TaskRequests

SOURCES = ("python", "widget", "control file", "command line", "sidebar")


class CommandQueue:
    """Takes commands from any thread and from the control file.

    Parameters
    ----------
    move : callable
        Pauses, resumes, stops or cancels the session.
    state : callable
        Returns the session's state.

    Attributes
    ----------
    thread : Thread or None
        The thread that reads the control file.
    """

    def __init__(
        self,
        plan: RunPlan,
        run_state: RunState,
        searches: TaskSearches,
        recorder: LogRecorder,
        move: Callable[[str], None],
        state: Callable[[], State],
    ) -> None:
        self._plan, self.tasks, self.run_state = plan, plan.tasks, run_state
        self._searches, self._recorder, self.move, self._state = searches, recorder, move, state
        self._lock = threading.RLock()
        self._ended = threading.Event()
        self._mailbox: Mailbox | None = None
        self.thread: threading.Thread | None = None

    # ---- what commands need ----

    def check_requests(self, index: int, requests: TaskRequests) -> None:
        """Raise ``steer.*`` when no candidate of the task's space meets them."""
        self._plan.context.check_requests(self._searches.space(index), requests)

    def given(self, index: int, variant: int, row: Mapping[str, int], trace: Sequence[Any]) -> GivenCandidate:
        """Return the candidate that a person has given."""
        return self._plan.context.given(self.tasks[index], self._searches.space(index), variant, row, trace)

    def check_move(self, how: str) -> None:
        """Raise ``steer.state`` where a pause or its end would mean nothing and not be remembered either."""
        state = self._state()
        if how in ("pause", "resume") and state in ("idle", "stopping"):
            message = "The session was not started yet" if state == "idle" else "The session is about to end"
            raise UsageError("steer.state", f"{message}, so '{how}' would do nothing", [how])

    def begin(self) -> None:
        """Write down with what the run is started, and by whom; commands that come later are for it."""
        plan, options = self._plan, self._plan.options
        args: dict[str, Any] = {
            "trials": plan.trials, "seconds": plan.seconds, "epsilon": float(options.epsilon),
            "confirm": options.confirm, "space": self._plan.context.origin(),
        }  # fmt: skip
        if len(active := self.run_state.scheduler.active) < len(self.tasks):
            args["tasks"] = [self.tasks[index].key for index in sorted(active)]
        if options.objective is not None:
            args["objective"] = objective_text(options.objective)
        self._recorder.write(self._line(START, args, _source(plan.source), ""))
        if plan.log is not None:
            self._mailbox = Mailbox(plan.log)

    # ---- taking commands ----

    def steer(self, name: str, args: Mapping[str, Any], source: str = "python", id: str = "") -> Command:
        """Carry a command out.

        Returns
        -------
        Command
            As it stands in the log.

        Raises
        ------
        WorkbenchError
            Why it was refused; the refusal is in the log as well.
        """
        _source(source)
        with self._lock:
            try:
                settled = self._settled(name, args)
            except WorkbenchError as error:
                self._refuse(name, args, source, id, error)
                raise
            line = self._line(settled.name, settled.to_json(), source, id)
            self._recorder.write(line)
            self._tell(line)
            settled.act(self)
            return line

    def _settled(self, name: str, args: Mapping[str, Any]) -> SteeringCommand:
        try:
            return read_command(name, args).settle(self)
        except WorkbenchError:
            raise
        except Exception as error:  # whatever odd values may cause: a session never ends by a command
            text = f"'{shown(name)}' failed: {type(error).__name__}: {shown(str(error))}"
            raise TuneError("steer.failed", text) from error

    def _refuse(self, name: object, args: Mapping[str, Any], source: str, id: str, error: WorkbenchError) -> None:
        small = {str(k)[:40]: _short(v) for k, v in list(args.items())[:16]}
        hint = f" ({error.hint})" if error.hint else ""
        text = f"{error.message}{hint} [{error.code}]"
        line = self._line(str(name)[:40] if isinstance(name, str) else shown(name), small, source, id, text)
        self._recorder.write(line)
        self._tell(line)

    def _line(self, name: str, args: Mapping[str, Any], source: str, id: str, error: str = "") -> Command:
        elapsed = round(self._recorder.elapsed(), 4)
        return Command(
            id=id, name=name, args=args, source=source, accepted=not error, error=error, elapsed_s=elapsed,
            timestamp=time.time(),
        )  # fmt: skip

    def _tell(self, line: Command) -> None:
        key = line.args.get("task")
        name = next((task.name for task in self.tasks if task.key == key), None)
        words = " ".join(f"{k}={_short(v)}" for k, v in line.args.items() if k not in ("trace", "key"))
        text = f"{line.name} {words}".strip()
        self._recorder.tell("command", f"{text}: {line.error}" if line.error else text, name, line=line)

    # ---- the control file ----

    def start(self) -> None:
        """Begin to read the control file, if there is a log that it lies beside."""
        if self._mailbox is not None and self.thread is None:
            self.thread = threading.Thread(target=self._read, name="workbench-control", daemon=True)
            self.thread.start()

    def _read(self) -> None:
        assert self._mailbox is not None
        while not self._ended.wait(Waiting.CONTROL_FILE_S):
            for message in self._mailbox.poll():
                if self._ended.is_set():
                    return
                try:
                    self._take(message)
                except Exception as error:  # the next command is to be heard all the same
                    text = f"control file: {type(error).__name__}: {shown(str(error))} [steer.failed]"
                    self._recorder.tell("warning", text)

    def _take(self, message: Message) -> None:
        if message.problem and not message.id:
            self._recorder.tell("warning", f"control file: {message.problem} [{message.code}]")
            return
        if self.run_state.knows(message.id):
            return
        try:
            if message.problem:
                error = UsageError("steer.argument", f"This command cannot be read: {message.problem}")
                self._refuse(message.name, {}, message.source, message.id, error)
            else:
                self.steer(message.name, message.args or {}, message.source, message.id)  # type: ignore[arg-type]
        except WorkbenchError:
            return  # the log says why

    def close(self) -> None:
        """Take no more commands."""
        self._ended.set()
        if self.thread is not None and self.thread is not threading.current_thread():
            self.thread.join(Waiting.CALLBACK_S)
        if self._mailbox is not None:
            self._mailbox.discard()


def _source(name: str) -> str:
    if name not in SOURCES:
        raise UsageError("steer.source", f"There is no source {shown(name)}", (), f"known: {', '.join(SOURCES)}")
    return name


def _short(value: Any) -> Any:
    """Return what of a value is worth keeping in the log of a refusal."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float) and abs(value) < 1e15:
        return value
    return value[:80] if isinstance(value, str) else shown(value)

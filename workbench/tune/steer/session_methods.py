"""The methods by which a program steers a session; each is one command of `steering`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from workbench import forms
from workbench.errors import TuneError, WorkbenchError
from workbench.tune.state.events import FINAL, State
from workbench.tune.steer.commands import STEERING_COMMANDS, SteeringCommand, documentation

if TYPE_CHECKING:
    from workbench.graph.tasks import Task
    from workbench.log import Command
    from workbench.schedule import Schedule
    from workbench.tune.plan.run_plan import RunPlan
    from workbench.tune.state.session_control import SessionControl
    from workbench.tune.steer.command_dispatcher import CommandQueue


class SessionMethods:
    """What `TuningSession` can be told. All methods may be called from any thread."""

    _plan: RunPlan
    _control: SessionControl
    _queue: CommandQueue
    _thread: threading.Thread | None
    _asked_to_pause: bool
    _holding: threading.Lock
    _asking: threading.RLock

    def _finish(self) -> None:
        """Let everything go; the session has ended."""
        raise NotImplementedError

    @property
    def state(self) -> State:
        """Where the session is in its life."""
        return self._control.state

    @property
    def on_hold(self) -> bool:
        """Whether the pause is one of `hold`, which nobody has asked for as a command."""
        return self.state == "paused" and not self._asked_to_pause

    def hold(self, on: bool) -> None:
        """Hold for a moment, or go on, without a command in the log: for a measurement by hand.

        Who has asked for a pause meanwhile has it when the moment is over.
        """
        with self._asking:
            if on or not self._asked_to_pause:
                self._switch("paused" if on else "running")

    def _move(self, how: str) -> None:
        """Pause, resume, stop or cancel; nothing where it means nothing."""
        if how in ("pause", "resume"):
            with self._asking:
                self._asked_to_pause = how == "pause" and self.state in ("running", "paused")
                self._switch("paused" if how == "pause" else "running")
        elif how == "stop":
            if self._control.move("done", only_from=("idle",)):
                self._finish()
            else:
                self._switch("stopping")  # what a pause has held back has to come to its end
        elif self._control.move("cancelled", only_from=("idle", "running", "paused", "stopping")):
            self._plan.measurer.kill()
            if self._thread is None:
                self._finish()

    def _switch(self, state: State) -> None:
        """Change the state and hold the measurer accordingly: whoever comes last sees where several have led."""
        only_from: dict[State, tuple[State, ...]] = {
            "paused": ("running",), "running": ("paused",), "stopping": ("running", "paused"),
        }  # fmt: skip
        self._control.move(state, only_from=only_from[state])
        with self._holding:
            self._plan.measurer.hold(self.state == "paused")

    def steer(self, name: str, *, source: str = "python", **args: Any) -> Command:
        """Carry out a command; `commands` lists all of them.

        Parameters
        ----------
        name : str
            The command.
        source : {"python", "widget", "control file", "command line", "sidebar"}
            Who sent it, for the log.
        **args
            Its arguments.

        Returns
        -------
        Command
            The line that stands in the log.

        Raises
        ------
        WorkbenchError
            ``steer.*`` and ``usage.task``: why it was refused; ``steer.ended`` after the end.
        """
        if self.state in FINAL:
            raise TuneError("steer.ended", f"The session has ended ({self.state})", [name])
        return self._queue.steer(name, args, source)

    @staticmethod
    def commands() -> list[dict[str, Any]]:
        """Return all commands with what they do and their arguments."""
        return documentation()

    def _quietly(self, name: str, states: tuple[State, ...]) -> Self:
        """Carry out a command that means nothing in other states: calling it twice is no mistake."""
        if self.state in states:
            try:
                self.steer(name)
            except WorkbenchError:  # it ended just now, or the log cannot be written any more
                self._move(name)
        return self

    def pause(self) -> Self:
        """Hold after the trial in flight."""
        return self._quietly("pause", ("running", "paused") if self.on_hold else ("running",))

    def resume(self) -> Self:
        """Go on after `pause`."""
        return self._quietly("resume", ("paused",))

    def stop(self) -> Self:
        """End after the trial in flight and keep everything; returns at once, `wait` waits for the end.

        A network is timed once more, which takes a few seconds; `cancel` ends that, too.
        """
        return self._quietly("stop", ("idle", "running", "paused"))

    def cancel(self) -> Self:
        """End now: workers are killed and the trial in flight is thrown away; the log keeps what it has."""
        return self._quietly("cancel", ("idle", "running", "paused", "stopping"))

    def add(
        self,
        task: Task | int | str,
        schedule: Schedule | Sequence[Mapping[str, Any]] | None = None,
        *,
        variant: int | None = None,
        row: Mapping[str, int] | None = None,
    ) -> Command:
        """Measure a candidate next: a concrete schedule (or its trace), or a row of a variant of the space."""
        made = getattr(schedule, "to_json", None)
        trace = made() if made is not None else schedule
        return self.steer("add", task=task, trace=trace, variant=variant, row=row)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Command]:
            """Methods of the commands, which `_method_of` makes: pin, forbid, release, budget, epsilon."""


def _method_of(cls: type[SteeringCommand]) -> Callable[..., Any]:
    """Return the method of a session that gives a command."""

    def method(self: SessionMethods, /, *args: Any, **kwargs: Any) -> Command:
        return self.steer(cls.name, **cls.bound(*args, **kwargs))

    doc = [cls.summary(), *forms.parameters(cls), "", "Returns", "-------", "Command", "    The line in the log."]
    return forms.method_of(cls, "TuningSession", method, "\n".join(doc))


for _name, _order in STEERING_COMMANDS.items():
    if not hasattr(SessionMethods, _name):
        setattr(SessionMethods, _name, _method_of(_order))

"""`Workbench`: the root widget. It carries messages between one `Session` and any number of views of it."""

from __future__ import annotations

import os
import threading
import uuid
import weakref
from collections.abc import Mapping
from functools import partial
from importlib import resources
from typing import Any

import anywidget
import traitlets

from workbench.arguments import is_a
from workbench.errors import UsageError, did_you_mean
from workbench.graph.tasks import Task
from workbench.logs.explorer.subject import is_foreign
from workbench.schedule import Schedule
from workbench.schedule.primitive import Primitive
from workbench.session import Session
from workbench.session.core.questions import failure
from workbench.session.registry import PANELS
from workbench.target import Target
from workbench.tune.run.tuning_session import TuningSession
from workbench.widgets.constructor_options import loading
from workbench.widgets.explorer import LogExplorer
from workbench.widgets.figure import LiveFigure
from workbench.widgets.sharing_methods import SharingMethods, opening
from workbench.widgets.static_view import copies, static_text, with_copy
from workbench.widgets.target_methods import Sessions, TargetMethods
from workbench.widgets.variant_methods import VariantMethods, wait_for

HOW_TO_STEP = "take a step of w.schedule.moves(), or call its method: w.schedule.unroll('k')"

_STATIC = resources.files("workbench.widgets") / "static"
# Text, not a Path: a path would be watched, and what watches it outlives the widget.
_ESM = (_STATIC / "workbench.js").read_text(encoding="utf-8")
_CSS = (_STATIC / "workbench.css").read_text(encoding="utf-8")
_PANEL_ESM = (_STATIC / "panel.js").read_text(encoding="utf-8")


class Workbench(TargetMethods, VariantMethods, SharingMethods, anywidget.AnyWidget):
    """See, change and tune a tensor program.

    Parameters
    ----------
    subject : Graph, Task, list of Task, Func, Schedule, TuningSession, Replay, path, DataFrame or Session
        What to show: a model (or the path of one), a task, a program, a schedule (shared: a step taken on it in another
        cell shows up here, and the other way round), a tuning session to watch and steer, a record of another tuner
        (`workbench.logs.replay`; a copy of its schedule), or a tuning log. A
        `Session` may be shown by several workbenches and outlives them. The log of another tuner (a path, or what
        `workbench.logs.open` gives) is shown by a `LogExplorer`, which is then what you get.
    log : path, optional
        Where tuning that is started here writes; by default a name made from the model's in the working directory.
    target : Target, optional
        What to compile for; this machine by default.
    panel : str
        "all", or the one part to show, see `PANELS`.
    auto_measure : bool
        Whether every step that is taken here is measured at once.
    variants : path, optional
        A file that keeps the variants of all tasks, with their times: what it holds is shown, and it is written when
        something has changed, so that a restarted kernel goes on where the last one was.
    view : path or mapping, optional
        What is shown first: a file that the export "View" has written, or what `view` returned. Without a `subject`
        its programs are opened, so that neither the model nor its log is needed.
    **options
        For a model `precision`, as for `compile`; for its file `shapes`, `dynamic` and `fill_weights`, as for
        `Session`; what every widget has, such as `layout`.

    Attributes
    ----------
    selection : str
        Name of the selected loop, block or buffer; may be set, observed and linked.

    Raises
    ------
    UsageError
        "workbench.subject" for something that cannot be shown, "workbench.panel" for a part that does not exist.
    ModelError, LogError
        What is wrong with a file.
    """

    _esm = _ESM
    _css = _CSS
    panel = traitlets.Unicode("all").tag(sync=True)
    key = traitlets.Unicode("").tag(sync=True)
    figure = traitlets.Unicode("").tag(sync=True)
    screen = traitlets.Dict().tag(sync=True)
    selection = traitlets.Unicode("")

    def __new__(cls, subject: Any = None, *args: Any, **options: Any) -> Any:
        """Make a workbench, or, for the log of another tuner, an explorer."""
        if cls is Workbench and is_foreign(subject):
            about = {name: value for name, value in options.items() if value is not None}
            return LogExplorer(subject, **about)
        return super().__new__(cls, subject, *args, **options)

    def __init__(
        self,
        subject: Any = None,
        *,
        log: str | os.PathLike[str] | None = None,
        target: Target | None = None,
        panel: str = "all",
        auto_measure: bool = True,
        variants: str | os.PathLike[str] | None = None,
        view: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        _check_panel(panel, ("all", *PANELS))
        alone = subject is None
        subject, shown = opening(subject, view, target)
        given = isinstance(subject, Session)
        about = loading(options, self.class_trait_names(), given)
        session = subject if given else Session(subject, log=log, target=target, auto_measure=auto_measure, **about)
        self._sessions, self._turning = Sessions(session, not given, variants, auto_measure), threading.Lock()
        key = uuid.uuid4().hex  # of the comm as well: the browser sends urgent messages to it past its host
        first = {"layout": _grows(), "selection": _selected(session)}
        super().__init__(panel=panel, key=key, model_id=key, **{**first, **options})
        _hear_where_sent(self.comm)
        self._owns_layout = "layout" not in options
        self._figure = LiveFigure(session)
        self._panels: weakref.WeakSet[Panel] = weakref.WeakSet()
        self._sessions.deliver = self._deliver
        self.on_msg(self._receive)
        self.observe(self._selection_set, "selection")
        if shown is not None:
            self._open_view(shown, alone)

    # ----- what Python sees

    @property
    def session(self) -> Session:
        """What is shown, as a value that needs no browser; another one after `retarget`."""
        return self._session

    @property
    def schedule(self) -> Schedule | None:
        """The schedule on show; steps taken on it appear in the widget."""
        return self._session.schedule

    @property
    def task(self) -> Task | None:
        """The task on show."""
        return self._session.task

    @property
    def tasks(self) -> tuple[Task, ...]:
        """All tasks of the model."""
        return tuple(self._session.tasks)

    @property
    def tuning(self) -> TuningSession | None:
        """The tuning session that runs, or ran last."""
        return self._session.tuning

    def open_task(self, task: Task | int | str) -> Workbench:
        """Show a task: the task itself, its position, key or name."""
        self._session.run("open_task", task=getattr(task, "key", task))
        return self

    def apply(self, step: Primitive) -> Workbench:
        """Take a step of the schedule; the same as ``w.schedule.apply(step)``, measured as a click would be."""
        self._session.run("apply", step=is_a("step", step, Primitive, HOW_TO_STEP).to_json())
        return self

    def undo(self, n: int = 1) -> Workbench:
        """Take back the last `n` steps."""
        self._session.run("undo", n=n)
        return self

    def redo(self, n: int = 1) -> Workbench:
        """Take the last `n` undone steps again."""
        self._session.run("redo", n=n)
        return self

    def measure(self) -> Workbench:
        """Measure the schedule on show and wait for the number, so that what a cell times next is not disturbed.

        Raises
        ------
        UsageError
            "session.closed" when the workbench was closed meanwhile; "session.thread" in an observer, which holds up
            the thread that the number would come from.
        """
        wait_for(self._session, lambda: self._session.run("measure"), lambda: not self._measuring())
        return self

    def _measuring(self) -> bool:
        history = self._session.snapshot().slices["history"]
        shown = next((r for r in history["rows"] if r["id"] == history["at"]), None)
        return shown is not None and shown["status"] in ("queued", "measuring")

    def tune(
        self,
        scope: str | None = None,
        *,
        trials: int | None = None,
        seconds: float | None = None,
        variant: int | None = None,
    ) -> TuningSession:
        """Start tuning.

        Parameters
        ----------
        scope : {"schedule", "task", "all"}, optional
            The open numbers of the schedule on show, its task, or all tasks. By default the first of these that there
            is something to do for.
        trials, seconds : int, float, optional
            Budget.
        variant : int, optional
            A variant with open numbers: its steps stay as they are, and the numbers are searched for.

        Returns
        -------
        TuningSession
            Running; the widget follows it.
        """
        if scope is None:
            schedule = self._session.schedule
            scope = "schedule" if schedule is not None and not schedule.is_concrete else "all"
        self._session.run("tune", scope=scope, trials=trials, seconds=seconds, node=variant)
        tuning = self._session.tuning
        assert tuning is not None
        return tuning

    def show(self, name: str) -> Panel:
        """Return one part of the workbench as a widget of its own; it follows the same selection and schedule."""
        if self.comm is None:
            raise UsageError("session.closed", "The workbench was closed", (), "open a new one")
        panel = Panel(self, name)
        self._panels.add(panel)
        return panel

    def close(self) -> None:
        """Remove the widget and its parts from the page. Tuning that runs goes on; see `tuning`."""
        if getattr(self, "_figure", None) is not None:
            for panel in list(self._panels):
                panel.close()
            self._figure.close()
            self._sessions.close()
            _close_layout(self)
        super().close()

    # ----- messages

    def _receive(self, _widget: object, content: Any, _buffers: object) -> None:
        """Take a message from the browser. Runs on whichever thread the kernel chose, so it only passes it on."""
        if not isinstance(content, Mapping):
            return
        kind, name, args = content.get("t"), str(content.get("id", "")), content.get("args") or {}
        if kind == "hello":
            self._session.submit(self._set_theme, {"theme": str(content.get("theme", "light"))})
            self._session.greet(partial(self._deliver, self._session))
        elif kind == "here":
            self._session.attend()
        elif kind == "screen":
            self._see(content.get("screen"))
        elif kind == "ask" and content.get("q") == "copies":
            self._session.submit(partial(self._copies, name))
        elif kind == "ask":
            self._session.ask(str(content.get("q")), args, self._reply(name))
        elif kind == "do":
            self._session.submit(*self._own(str(content.get("cmd")), args), id=name)

    def _own(self, command: str, args: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
        """Replace the commands that are about the widget itself by what the session is to run for them."""
        if command == "figure":
            return self._make_figure, {}
        if command == "theme":
            return self._set_theme, args
        if command == "retarget":
            return self._retarget_soon, args
        return command, args

    def _copies(self, name: str) -> None:
        """Send what a notebook keeps of the views; runs in the session's thread."""
        views = [self, *(panel for panel in list(self._panels) if panel.comm is not None)]
        try:
            answer: Mapping[str, Any] = {"ok": True, "value": copies(views, self._session)}
        except Exception as error:  # who saves waits for an answer
            answer = failure(error)
        self._reply(name)(answer)

    def _make_figure(self) -> None:
        self.figure = "IPY_MODEL_" + self._figure.widget().model_id

    def _set_theme(self, theme: str = "light") -> None:
        self._figure.set_theme(theme)

    def _reply(self, name: str) -> Any:
        def reply(answer: Mapping[str, Any]) -> None:
            self.send({"t": "ret", "id": name, **answer})

        return reply

    def _deliver(self, session: Session, message: Mapping[str, Any]) -> None:
        """Send a message of a session to every view; runs in the session's thread."""
        if self.comm is None:  # closed meanwhile
            return
        with self._turning:  # what is sent is of the session that is on show then
            if (told := self._own_or_settled(session, message)) is not None:
                self.send(told)
        if session is not self._session:
            return
        self._figure.follow(message.get("ops", {}))
        if (selected := _selected(self._session)) != self.selection:
            self.selection = selected

    def _selection_set(self, change: Mapping[str, Any]) -> None:
        if change["new"] != _selected(self._session):
            self._session.submit("select", {"id": change["new"]})

    # ----- without a browser

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return with_copy(self, super()._repr_mimebundle_(**kwargs), self._session)

    def __repr__(self) -> str:
        return static_text(self._session.snapshot().slices)


class Panel(anywidget.AnyWidget):
    """One part of a `Workbench`, to be placed anywhere; make it with ``workbench.show(name)``."""

    _esm = _PANEL_ESM
    panel = traitlets.Unicode("nest").tag(sync=True)
    key = traitlets.Unicode("").tag(sync=True)
    root = traitlets.Unicode("").tag(sync=True)

    def __init__(self, workbench: Workbench, name: str, **traits: Any) -> None:
        _check_panel(name, tuple(PANELS))
        is_a("workbench", workbench, Workbench)
        root = "IPY_MODEL_" + workbench.model_id
        super().__init__(panel=name, key=workbench.key, root=root, **{"layout": _grows(), **traits})
        self._owns_layout = "layout" not in traits
        self._workbench = workbench

    def close(self) -> None:
        """Remove the panel from the page; the workbench stays."""
        _close_layout(self)
        super().close()

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return with_copy(self, super()._repr_mimebundle_(**kwargs), self._workbench.session)


def _grows() -> dict[str, str]:
    """Layout that takes the room there is: the drawing has no width of its own, and an ``HBox`` would give it none."""
    return {"flex": "1 1 auto"}


def _hear_where_sent(comm: Any) -> None:
    """Let messages of the browser go to the shell that they were sent to.

    Where comms have a thread of their own (a subshell), the kernel gives a comm's messages to the shell that published
    on it last. We publish from the session's thread, which the kernel takes for the main shell; there, a click would
    wait for the running cell.
    """
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = lambda _data, sent_to: sent_to


def _close_layout(widget: Workbench | Panel) -> None:
    """Close the layout that a widget made for itself: ipywidgets would keep it for the life of the kernel."""
    if getattr(widget, "_owns_layout", False):
        widget._owns_layout = False
        widget.layout.close()


def _check_panel(name: object, known: tuple[str, ...]) -> None:
    if name not in known:
        raise UsageError("workbench.panel", f"There is no panel {name!r}", (), did_you_mean(str(name), known, "panels"))


def _selected(session: Session) -> str:
    """Return the id of what is selected, empty where nothing is."""
    selection = session.snapshot().slices.get("selection") or {}
    return str(selection.get("id", ""))

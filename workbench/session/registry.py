"""What a session can do and show: commands, slices, questions, each a decorated function in `workbench.session.panels`.

A *slice* is a value that is always shown, computed anew after every change. A *command* changes the state. A *question*
is asked by a front end about what is looked at on demand, and answered to the one who asked. A *panel* is a part of the
screen; its static view, its drawing and its table are what is seen of it without a front end.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from workbench.analysis.graph_drawing.svg_canvas import Canvas
from workbench.errors import UsageError
from workbench.log import Record
from workbench.markup import Html
from workbench.registry import Registry
from workbench.session.core.identity_cache import IdentityCache
from workbench.session.state.history import View
from workbench.session.state.session_state import SessionState
from workbench.tune.state.events import Snapshot as TuningSnapshot

KEPT = 8
"""Values of one slice that are kept: who takes a step back, or goes back and forth, finds them again."""


def slice_cache() -> Mapping[str, IdentityCache]:
    """Return an empty cache for each name of a slice."""
    return defaultdict(lambda: IdentityCache(KEPT))


@dataclass(frozen=True, slots=True)
class SliceContext:
    """What slices look at; made once, then all of them are computed from it.

    Attributes
    ----------
    view : View or None
        The schedule on show.
    tuning : Snapshot or None
        The tuning run that is followed.
    nest : dict or None
        The slice `nest`, which says what can be selected.
    cache : mapping of name to IdentityCache
        Where a slice keeps what costs something.
    """

    state: SessionState
    view: View | None
    tuning: TuningSnapshot | None
    nest: dict[str, Any] | None
    cache: Mapping[str, IdentityCache]


class Host(Protocol):
    """What commands and questions need of the session.

    Attributes
    ----------
    source : str
        Who has given the command that is carried out: "widget" or "python".
    """

    state: SessionState
    source: str

    def request(self, view: View) -> None:
        """Ask for a measurement of a state."""

    def shown(self) -> Mapping[str, Any]:
        """Return the slices as they are now."""

    def submit(self, cmd: Callable[..., object]) -> None:
        """Call a function in the session's thread; what it changes is shown. Any thread may ask for that."""

    def later(self, kind: str, work: Callable[[], Callable[[], None] | None], lane: str = "work") -> None:
        """Do what takes long in a thread beside the session's; a newer request of the same kind takes its place.

        `work` must not touch the state; the function that it returns may, and is called in the session's thread.
        """


@dataclass(frozen=True, slots=True)
class Slice:
    """A declared slice; `after` names those that are computed before it, ``"*"`` all others."""

    make: Callable[[SliceContext], Any]
    after: tuple[str, ...]
    by_selection: bool


@dataclass(frozen=True, slots=True)
class Question:
    """A declared question, and the lane in which its answer is worked out; "" for the session's own thread."""

    answer: Callable[[Host, Mapping[str, Any]], Any]
    lane: str


@dataclass(frozen=True, slots=True)
class Panel:
    """A part of a workbench that can be shown by itself; the front end has a component of the same name.

    Attributes
    ----------
    title : str
        What it is called in a list of panels.
    place : int
        Where it stands in that list.
    slice : str
        The slice that a saved notebook shows of it, see `static`.
    needs : str
        What has to be open: "model", "lengths" (a model with ranges of them), "tasks" (several of them) or "program";
        "" for anything.
    about_task : bool
        Whether it is about the task on show, whose numbers then stand above it.
    page : int
        Where it stands on the page that a saved notebook shows of the whole workbench; 0 for not there.
    """

    title: str
    place: int
    slice: str
    needs: str = ""
    about_task: bool = False
    page: int = 0


F = TypeVar("F", bound=Callable[..., None])
S = TypeVar("S", bound=Callable[[SliceContext], Any])
Q = TypeVar("Q", bound=Callable[[Host, Mapping[str, Any]], Any])
A = TypeVar("A", bound=Callable[[Mapping[str, Any]], Iterator[tuple[str, dict[str, Any]]]])

COMMANDS: Registry[Callable[..., None]] = Registry("command", "commands", "session.command")
SLICES: dict[str, Slice] = {}
QUESTIONS: Registry[Question] = Registry("question", "questions", "session.question")
PANELS: dict[str, Panel] = {}

Row = Mapping[str, Any]
static: Registry[Callable[[Row, int], Html]] = Registry("static view", "static views", "export.panel")
"""Declares how a saved notebook shows a slice: a function of its value and of how many rows there may be."""
drawing: Registry[Callable[[Row, Mapping[str, Any], Canvas], str]] = Registry("drawing", "drawings", "export.panel")
"""Declares a panel as SVG: a function of its slice, all slices, and the canvas; returns ``canvas.done(...)``."""
table: Registry[Callable[[Row, Sequence[Record]], list[Row]]] = Registry("table", "tables", "export.panel")
"""Declares a table for CSV: a function of all slices and the trials that returns rows."""

RECORDED: list[Callable[[Mapping[str, Any]], Iterator[tuple[str, dict[str, Any]]]]] = []


def recorded(ask: A) -> A:
    """Declare which questions, with their arguments, a page without a kernel can answer: a function of all slices."""
    RECORDED.append(ask)
    return ask


def panel(name: str, title: str, place: int, **more: Any) -> None:
    """Declare a panel, see `Panel`; its slice has its own name if nothing else is said."""
    PANELS[name] = Panel(title, place, more.pop("slice", name), **more)


def command(function: F) -> F:
    """Declare a command: its name and arguments are those of the function after the host."""
    COMMANDS[function.__name__] = function
    return function


def slice_(name: str, *, after: tuple[str, ...] = (), by_selection: bool = False) -> Callable[[S], S]:
    """Declare a slice: a function of a `SliceContext` that returns plain JSON, the same while nothing changes.

    One that depends on what is selected (`by_selection`) is recorded for each row of the nest.
    """

    def declare(function: S) -> S:
        SLICES[name] = Slice(function, after, by_selection)
        return function

    return declare


def question(name: str, *, lane: str = "") -> Callable[[Q], Q]:
    """Declare a question: a function of the host and the arguments that returns the answer, in less than 30 ms.

    With a `lane` the function looks at the state, in the session's thread, and returns the work: a function without
    arguments that runs in that lane's thread and returns the answer. In a lane one thing is done after the other.
    """

    def declare(function: Q) -> Q:
        QUESTIONS[name] = Question(function, lane)
        return function

    return declare


def run(host: Host, name: object, args: object) -> None:
    """Run a command by name, or a function that the front end's own side has put into the queue.

    Raises
    ------
    WorkbenchError
        "session.command", "session.arguments", or whatever the command raises.
    """
    if not isinstance(args, Mapping) or not all(isinstance(k, str) for k in args):
        raise UsageError("session.arguments", f"The arguments of {name!r} are not an object")
    if callable(name):
        name(**args)
        return
    function = COMMANDS.find(name)
    try:
        inspect.signature(function).bind(host, **args)
    except TypeError as error:
        raise UsageError("session.arguments", f"{name}: {error}", (str(name),)) from None
    host.state.begun = True
    function(host, **args)


def answer(host: Host, name: str, args: object) -> tuple[Any, str]:
    """Answer a question; returns the answer and "", or the work that finds it and the lane to do it in.

    Raises
    ------
    WorkbenchError
        "session.question", "session.arguments", or whatever the question raises.
    """
    found = QUESTIONS.find(name)
    if not isinstance(args, Mapping):
        raise UsageError("session.arguments", f"The arguments of {name!r} are not an object")
    return found.answer(host, args), found.lane


def needed(args: Mapping[str, Any], question: str, name: str) -> Any:
    """Return an argument of a question that has to be there."""
    if name not in args:
        raise UsageError("session.arguments", f"{question} needs a {name}")
    return args[name]

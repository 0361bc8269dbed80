"""How commands to a running session are declared and read, whoever sends them; `steering` has the commands.

A command is a frozen dataclass under `@order(name)`. Its fields are declared with `column`, so that it has one form in
Python, in a control file, on the command line and in the log. `settle` checks it against the session and returns it as
it is written down; `apply` changes what follows from the log (so it happens again on resume); `act` does what concerns
the running process only. Nothing that is sent is ever executed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar

from workbench.arguments import shown
from workbench.errors import UsageError, WorkbenchError, did_you_mean
from workbench.log.columns import VALUES

if TYPE_CHECKING:
    from workbench.graph.tasks import Task
    from workbench.tune.run.protocols import Given
    from workbench.tune.run.run_state import Standing, Wishes


MOST_VALUES = 1 << 16
"""The longest range that is taken as a list of values."""


class Desk(Protocol):
    """What commands are checked against and act on: the session, as far as they need it."""

    @property
    def tasks(self) -> Sequence[Task]: ...
    @property
    def standing(self) -> Standing: ...
    def check_wishes(self, index: int, wishes: Wishes) -> None:
        """Raise ``steer.*`` when no candidate of the task's space meets them."""

    def given(self, index: int, variant: int, row: Mapping[str, int], trace: Sequence[Any]) -> Given:
        """Return the candidate that a person has given."""

    def check_move(self, how: str) -> None:
        """Raise ``steer.state`` where it would mean nothing."""

    def move(self, how: str) -> None:
        """Pause, resume, stop or cancel."""


@dataclass(frozen=True, slots=True)
class Order:
    """Base of all commands."""

    name: ClassVar[str] = ""

    @classmethod
    def read(cls, args: Mapping[str, Any]) -> Self:
        """Return the command with these arguments; ``steer.argument`` for what they cannot be."""
        fields = {f.name: f for f in dataclasses.fields(cls)}
        for name in args:
            if name not in fields:
                hint = did_you_mean(str(name), fields, "arguments") if fields else "it has no arguments"
                raise UsageError("steer.argument", f"'{cls.name}' has no argument {shown(name)}", [cls.name], hint)
        known: dict[str, Any] = {}
        for name, field in fields.items():
            required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
            if args.get(name) is None:
                if required:
                    doc = field.metadata["doc"]
                    raise UsageError("steer.argument", f"'{cls.name}' needs {name}: {doc}", [cls.name])
                continue
            kind = VALUES[str(field.type)]
            try:
                known[name] = kind.read(_plain(name, args[name]))
            except (TypeError, ValueError, OverflowError, AttributeError, RecursionError):
                message = f"{name} of '{cls.name}' has to be: {kind.words}; not {shown(args[name])}"
                raise UsageError("steer.argument", message, [cls.name]) from None
        return cls(**known)

    def args(self) -> dict[str, Any]:
        """Return the arguments that were given, as they stand in the log."""
        out: dict[str, Any] = {}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            default = field.default_factory() if callable(field.default_factory) else field.default
            if value != default:
                out[field.name] = list(value) if isinstance(value, tuple) else value
        return out

    def settle(self, desk: Desk) -> Order:
        """Return the command as it is to be written down; raise a `WorkbenchError` that says why it is refused."""
        return self

    def apply(self, standing: Standing) -> None:
        """Change what follows from the log."""

    def act(self, desk: Desk) -> None:
        """Do what concerns the running process."""


_O = TypeVar("_O", bound=type[Order])
ORDERS: dict[str, type[Order]] = {}


def order(name: str) -> Callable[[_O], _O]:
    """Declare a command; the first line of the class's text says what it does."""

    def register(cls: _O) -> _O:
        cls.name = name
        ORDERS[name] = cls
        return cls

    return register


def read_order(name: object, args: Mapping[str, Any]) -> Order:
    """Return a command; ``steer.command`` or ``steer.argument`` when it is none."""
    cls = ORDERS.get(name) if isinstance(name, str) else None
    if cls is None:
        hint = did_you_mean(name, ORDERS, "commands") if isinstance(name, str) else f"known: {', '.join(ORDERS)}"
        raise UsageError("steer.command", f"There is no command {shown(name)}", (), hint)
    return cls.read(args)


def parse_order(name: str, args: Mapping[str, Any]) -> Order | None:
    """Return a command of a log, or None for one that this version does not know."""
    try:
        return read_order(name, args)
    except WorkbenchError:
        return None


def documentation() -> list[dict[str, Any]]:
    """Return all commands: ``name``, ``doc``, and ``arguments`` with ``name``, ``values``, ``doc`` and ``required``."""
    out = []
    for name, cls in ORDERS.items():
        arguments = [
            {
                "name": f.name,
                "values": VALUES[str(f.type)].words,
                "doc": f.metadata["doc"],
                "required": f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING,
            }
            for f in dataclasses.fields(cls)
            if not f.metadata.get("worked_out")
        ]
        out.append({"name": name, "doc": (cls.__doc__ or "").strip().splitlines()[0], "arguments": arguments})
    return out


def _plain(name: str, value: Any) -> Any:
    """Take a task by its number too, a single value where several may stand, and what Python and NumPy call numbers."""
    value = _python(value)
    if name == "task":
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else getattr(value, "key", value)
    if name == "values" and isinstance(value, int) and not isinstance(value, bool):
        return (value,)
    return value


def _python(value: Any) -> Any:
    """Return numbers and arrays of NumPy, sets and ranges as what JSON knows."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, set | frozenset) or (isinstance(value, range) and len(value) <= MOST_VALUES):
        value = sorted(value)
    if isinstance(value, list | tuple):
        return [_python(v) for v in value]
    return {k: _python(v) for k, v in value.items()} if isinstance(value, Mapping) else value


def worked_out(doc: str, **kwargs: Any) -> Any:
    """Declare a field that `settle` fills in."""
    return dataclasses.field(metadata={"doc": doc, "positive": False, "worked_out": True}, **kwargs)

"""How commands to a running session are declared and read, whoever sends them; `steering` has the commands.

A command is a frozen dataclass under `@order(name)` and a form (`workbench.forms`), so that it reads the same in
Python, in a control file, on the command line and in the log. `settle` checks it against the session and returns it as
it is written down; `apply` changes what follows from the log (so it happens again on resume); `act` does what concerns
the running process only. Nothing that is sent is ever executed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from workbench.arguments import index
from workbench.errors import WorkbenchError
from workbench.forms import Form, Kind, Text
from workbench.registry import Registry

if TYPE_CHECKING:
    from workbench.tune.state.run_state import Standing
    from workbench.tune.steer.command_queue import CommandQueue


MOST_VALUES = 1 << 16
"""The longest range that is taken as a list of values."""


@dataclass(frozen=True, slots=True)
class Order(Form):
    """Base of all commands."""

    argument_code: ClassVar[str] = "steer.argument"

    @classmethod
    def read(cls, args: Mapping[str, Any]) -> Self:
        """Return the command with these arguments, where null stands for one that is not given."""
        return cls.make(**{str(name): value for name, value in args.items() if value is not None})

    @classmethod
    def _cleaned(cls, kind: Kind, value: object) -> object:
        try:
            return kind.clean(_python(value))
        except (TypeError, AttributeError, OverflowError, RecursionError):  # whatever odd values may cause
            raise kind.refused(value) from None

    def to_json(self) -> dict[str, Any]:
        """Return the arguments that were given, as they stand in the log."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in self.said().items()}

    def settle(self, queue: CommandQueue) -> Order:
        """Return the command as it is to be written down; raise a `WorkbenchError` that says why it is refused."""
        return self

    def apply(self, standing: Standing) -> None:
        """Change what follows from the log."""

    def act(self, queue: CommandQueue) -> None:
        """Do what concerns the running process."""


_O = TypeVar("_O", bound=type[Order])
ORDERS: Registry[type[Order]] = Registry("command", "commands", "steer.command")


def order(name: str) -> Callable[[_O], _O]:
    """Declare a command; the first line of the class's text says what it does."""

    def register(cls: _O) -> _O:
        cls.declare(name)
        ORDERS[name] = cls
        return cls

    return register


def read_order(name: object, args: Mapping[str, Any]) -> Order:
    """Return a command; ``steer.command`` or ``steer.argument`` when it is none."""
    return ORDERS.find(name).read(args)


def parse_order(name: str, args: Mapping[str, Any]) -> Order | None:
    """Return a command of a log, or None for one that this version does not know."""
    try:
        return read_order(name, args)
    except WorkbenchError:
        return None


def documentation() -> list[dict[str, Any]]:
    """Return all commands: ``name``, ``doc``, and ``arguments`` with ``name``, ``values``, ``doc`` and ``required``."""
    return [
        {
            "name": name,
            "doc": cls.summary(),
            "arguments": [
                {"name": f.name, "values": f.words, "doc": f.kind.label, "required": f.required}
                for f in cls.fields()
                if not f.kind.hidden
            ],
        }
        for name, cls in ORDERS.items()
    ]


@dataclass(frozen=True, slots=True)
class TaskRef(Text):
    """A task: its number, key or name, or the task itself."""

    names: str = field(default="task", kw_only=True)

    def clean(self, value: object) -> str:
        """Return a number or a task as text."""
        number = None if isinstance(value, bool) else index(value)
        return Text.clean(self, getattr(value, "key", value) if number is None else str(number))


def _python(value: Any) -> Any:
    """Return numbers and arrays of NumPy, sets and ranges as what JSON knows."""
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, set | frozenset) or (isinstance(value, range) and len(value) <= MOST_VALUES):
        value = sorted(value)
    if isinstance(value, list | tuple):
        return [_python(v) for v in value]
    return {k: _python(v) for k, v in value.items()} if isinstance(value, Mapping) else value

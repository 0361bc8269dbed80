"""How commands to a running session are declared and read, whoever sends them; `commands` has them.

A command is a frozen dataclass under `@steering_command(name)` and a form (`workbench.forms`), so that it reads the
same in Python, in a control file, on the command line and in the log. `settle` checks it against the session and
returns it as it is written down; `apply` changes what follows from the log (so it happens again on resume); `act`
does what concerns the running process only. Nothing that is sent is ever executed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from workbench.arguments import index
from workbench.errors import WorkbenchError
from workbench.forms import Form, Kind, Text
from workbench.log import Command
from workbench.registry import Registry
from workbench.tune.state.run_state import RunState, apply_command

if TYPE_CHECKING:
    from workbench.tune.steer.command_dispatcher import CommandQueue


MOST_VALUES = 1 << 16
"""The longest range that is taken as a list of values."""


@dataclass(frozen=True, slots=True)
class SteeringCommand(Form):
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

    def settle(self, queue: CommandQueue) -> SteeringCommand:
        """Return the command as it is to be written down; raise a `WorkbenchError` that says why it is refused."""
        return self

    def apply(self, run_state: RunState) -> None:
        """Change what follows from the log."""

    def act(self, queue: CommandQueue) -> None:
        """Do what concerns the running process."""


_C = TypeVar("_C", bound=type[SteeringCommand])
STEERING_COMMANDS: Registry[type[SteeringCommand]] = Registry("command", "commands", "steer.command")


def steering_command(name: str) -> Callable[[_C], _C]:
    """Declare a command; the first line of the class's text says what it does."""

    def register(cls: _C) -> _C:
        cls.declare(name)
        STEERING_COMMANDS[name] = cls
        return cls

    return register


def read_command(name: object, args: Mapping[str, Any]) -> SteeringCommand:
    """Return a command; ``steer.command`` or ``steer.argument`` when it is none."""
    return STEERING_COMMANDS.find(name).read(args)


def _apply(run_state: RunState, line: Command) -> None:
    try:
        command = read_command(line.name, line.args)
    except WorkbenchError:  # of another version
        return
    command.apply(run_state)


apply_command.provide(_apply)


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
        for name, cls in STEERING_COMMANDS.items()
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

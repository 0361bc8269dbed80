"""What is to be known of a kind of target."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Literal, TypeAlias

from workbench.arguments import index, shown
from workbench.errors import TargetError, did_you_mean
from workbench.host import parse_size
from workbench.registry import Declarations


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a kind, ``-name=value``.

    Attributes
    ----------
    name, title : str
        As it is written, and what it says.
    default : str or int
        Its value where nothing is said; its type is that of all values.
    choices : tuple
        All values that there are; empty where any will do.
    least, most : int
        The least number, and the greatest one; None where nothing bounds it.
    by, defaults : str, dict
        Another option, which comes before, and the default for each of its values; `default` for all others.
    """

    name: str
    title: str
    default: str | int
    choices: tuple[str | int, ...] = ()
    least: int = 1
    most: int | None = None
    by: str = ""
    defaults: Mapping[str, int] = field(default_factory=dict)

    def usual(self, chosen: Mapping[str, str | int]) -> str | int:
        """Return the default beside the options that come before."""
        return self.defaults.get(str(chosen[self.by]), self.default) if self.by else self.default

    def read(self, value: object) -> str | int:
        """Return a value that was given; sizes may have a unit, ``32K``.

        Raises
        ------
        TargetError
            "target.option" for a value that it cannot have.
        """
        found: str | int | None = str(value)
        if isinstance(self.default, int):
            found = parse_size(value) if isinstance(value, str) else index(value)
        if found is None or (isinstance(found, int) and found < self.least):
            message = f"-{self.name} has to be a whole number from {self.least} on, not {shown(value)}."
            raise TargetError("target.option", message, (self.name,), f"{self.title}; for example {self.default}")
        if isinstance(found, int) and self.most is not None and found > self.most:
            message = f"-{self.name} is {self.most} at most, not {shown(value)}."
            raise TargetError("target.option", message, (self.name,), f"{self.title}; for example {self.default}")
        if self.choices and found not in self.choices:
            message = f"-{self.name} cannot be {shown(value)}."
            raise TargetError(
                "target.option", message, (self.name,), did_you_mean(found, map(str, self.choices), "values")
            )
        return found


State: TypeAlias = Literal["runs", "compiles", "prints", "missing"]


@dataclass(frozen=True, slots=True)
class Device:
    """Something that kernels can be made for, as far as this installation goes: a row of `workbench.devices`.

    Attributes
    ----------
    target : str
        What to pass as the target.
    title : str
        What it is.
    state : {"runs", "compiles", "prints", "missing"}
        Kernels run on it here; are compiled and can be looked at; are printed; or not even that.
    note : str
        What is missing, or what was found.
    install : str
        The command that would add what is missing; "" where none would.
    """

    target: str
    title: str
    state: State
    note: str = ""
    install: str = ""


@dataclass(frozen=True, slots=True)
class TargetKind:
    """A kind of target.

    Attributes
    ----------
    name : str
        First word of a target's text.
    title : str
        What it is, in one line.
    options : tuple of Option
        Options of its own, in the order in which a target's text has them.
    processor : bool
        Whether it is a CPU: it has the options of one (-mtriple, -mcpu, -mattr, -threads, caches), and this machine
        says what is left out.
    devices : str
        Function that finds its devices, ``"module:name"`` above this package; it takes nothing and returns `Device`
        values. "" where they follow from the backends of this kind.
    extensions : tuple of str
        Options whose value decides which intrinsics there are: `Target.isa` has ``NAME-VALUE`` for each.
    includes : dict
        ``NAME-VALUE``, or the kind's own name -> what else `Target.isa` has then.
    """

    name: str
    title: str
    options: tuple[Option, ...] = ()
    processor: bool = False
    devices: str = ""
    extensions: tuple[str, ...] = ()
    includes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def read(self, given: Mapping[str, object]) -> tuple[tuple[str, str | int], ...]:
        """Return the values of all options, those that were not given by default."""
        found: dict[str, str | int] = {}
        for o in self.options:
            found[o.name] = o.read(given.get(o.name, o.usual(found)))
        return tuple(found.items())

    def find_devices(self) -> Iterable[Device]:
        """Find the devices of this kind."""
        module, _, name = self.devices.partition(":")
        find: Callable[[], Iterable[Device]] = getattr(import_module(module), name)
        return find()


target_kinds: Declarations[TargetKind] = Declarations("kind of target", "kinds", "target.kind", TargetError)

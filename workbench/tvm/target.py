"""Targets and devices in TVM's words."""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from workbench import target as own
from workbench.errors import TargetError

#: The target of the innermost ``with Target(...)``.
_CURRENT: ContextVar[Target | None] = ContextVar("target", default=None)


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of a target."""

    name: str


class Target(AbstractContextManager["Target"]):
    """What to compile for, as text; in a ``with`` statement, what is built inside is for it."""

    def __init__(self, target: Any, host: Any = None) -> None:
        self.own = target if isinstance(target, own.Target) else plain(target)
        self._tokens: list[Token[Target | None]] = []

    @property
    def kind(self) -> Kind:
        """``target.kind.name``: "llvm" or another kind."""
        return Kind(self.own.kind)

    @staticmethod
    def current(allow_none: bool = True) -> Target | None:
        """The target of the innermost ``with`` statement."""
        return _CURRENT.get()

    def __enter__(self) -> Target:
        self._tokens.append(_CURRENT.set(self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _CURRENT.reset(self._tokens.pop())

    def __str__(self) -> str:
        return str(self.own)


def plain(target: Any = None) -> own.Target:
    """Our target of TVM's, of a text, or of the ``with`` statement around; of the host where there is none."""
    found = target if target is not None else _CURRENT.get()
    if isinstance(found, Target):
        return found.own
    if isinstance(found, own.Target):
        return found
    return own.Target.host() if found is None else own.Target(str(found))


@dataclass(frozen=True, slots=True)
class Device:
    """Where arrays live: the memory of this machine."""

    name: str = "cpu"
    index: int = 0

    def sync(self) -> None:
        """Wait for what runs: nothing does after a call has returned."""


def cpu(index: int = 0) -> Device:
    """Device of this machine."""
    return Device("cpu", index)


def device(name: str, index: int = 0) -> Device:
    """The device of a kind of target; the machine itself for ``"llvm"``, ``"c"`` and ``"cpu"``."""
    if name.split()[0] in ("llvm", "c", "cpu"):
        return cpu(index)
    text = f"TVM's device {name.split()[0]!r} has no arrays here."
    raise TargetError("target.kind", text, (name,), "take tvm.cpu(), or wb.Schedule(func, target).measure()")

"""`PassContext`: what TVM's compilation of a network is told; here the passes are those of `Graph.optimize`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from types import TracebackType

#: Passes that are left out inside.
_LEFT_OUT: ContextVar[tuple[str, ...]] = ContextVar("left_out", default=())


class PassContext(AbstractContextManager["PassContext"]):
    """Around `relay.build`.

    Parameters
    ----------
    opt_level : int
        0 leaves all passes but fusion out; every other level has all of them.
    config : mapping
        Of TVM; the schedules of a log are always used.
    disabled_pass : sequence of str
        Names of our passes to leave out.
    """

    def __init__(
        self, opt_level: int = 2, config: Mapping[str, object] | None = None, disabled_pass: Sequence[str] = ()
    ) -> None:
        from workbench.graph.passes import DEFAULT

        none = tuple(p for p in DEFAULT if p != "fuse")
        self._without = none if opt_level == 0 else tuple(disabled_pass)
        self._tokens: list[Token[tuple[str, ...]]] = []

    def __enter__(self) -> PassContext:
        self._tokens.append(_LEFT_OUT.set(self._without))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _LEFT_OUT.reset(self._tokens.pop())


def left_out() -> tuple[str, ...]:
    """Passes to leave out."""
    return _LEFT_OUT.get()

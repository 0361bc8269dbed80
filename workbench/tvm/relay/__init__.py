"""Networks in TVM's words: a module is a graph, building is compiling."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from workbench.errors import UsageError
from workbench.graph.graph import Array
from workbench.network.compile import compile
from workbench.runtime.execution.executable import Executable
from workbench.tvm.relay import data_dep_optimization, frontend, op, testing
from workbench.tvm.relay.module import Module
from workbench.tvm.target import plain
from workbench.tvm.transform import left_out

__all__ = ["Library", "Module", "build", "data_dep_optimization", "frontend", "op", "testing"]

#: The log of the innermost ``with ApplyHistoryBest(log)``.
HISTORY: ContextVar[Any] = ContextVar("history", default=None)


class Library:
    """A compiled network.

    Attributes
    ----------
    executable : Executable
    """

    def __init__(self, executable: Executable) -> None:
        self.executable = executable

    def __getitem__(self, name: str) -> Any:
        """``lib["default"](device)`` is what `graph_executor.GraphModule` takes."""
        if name != "default":
            raise UsageError("usage.function", f"A library has no function {name!r}", (name,), 'lib["default"]')
        return lambda *devices: self

    def export_library(self, path: str) -> None:
        """Write a shared library."""
        self.executable.export(path)


def build(mod: Module, target: Any = None, params: Mapping[str, Array] | None = None, **options: Any) -> Library:
    """Compile a network, with the schedules of the log around it: ``with auto_scheduler.ApplyHistoryBest(log)``."""
    return Library(compile(mod.bound(params), HISTORY.get(), plain(target), without=left_out()))

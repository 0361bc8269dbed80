"""Ctrl-C at moments when it must not strike."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

HEAVY = (
    "numpy",
    "onnx",
    "workbench.codegen.llvm_bind",
    "workbench.graph.fill",
    "workbench.tune.compile",
    "workbench.tune.start",
)
"""What the commands that work on a model load."""


@contextmanager
def deferred_interrupts() -> Iterator[None]:
    """Keep a Ctrl-C back until the block has ended; does nothing where it would not arrive anyway."""
    ignored = signal.getsignal(signal.SIGINT) == signal.SIG_IGN  # in the background of a script, for instance
    if ignored or threading.current_thread() is not threading.main_thread():
        yield
        return
    hits: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: hits.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if hits:
        raise KeyboardInterrupt


def load_heavy_modules() -> None:
    """Import what takes long. An extension module that is interrupted in its initialisation may abort the process."""
    for name in HEAVY:
        with deferred_interrupts():
            import_module(name)

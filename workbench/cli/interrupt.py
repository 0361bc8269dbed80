"""Ctrl-C at moments when it must not strike."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import FrameType

HEAVY = (
    "numpy",
    "onnx",
    "workbench.codegen.llvm.llvmlite_binding",
    "workbench.graph.seeded_weights",
    "workbench.network.compile",
    "workbench.tune.run.start",
)
"""What the commands that work on a model load."""

AGAIN_S = 0.02
"""An interrupt that would be lost is raised so many seconds later."""

TWICE_S = 0.5
"""Another Ctrl-C so soon after the first asks for nothing more: the command has yet to say what is safe."""


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


@contextmanager
def heard_interrupts() -> Iterator[None]:
    """Lose no Ctrl-C while a module is imported: what is raised in a callback of the import system, Python ignores.

    It is raised a moment later, then; what comes right after one that was raised is dropped. Does nothing where
    somebody else handles it, and on systems without timers.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or not hasattr(signal, "setitimer") or signal.getsignal(signal.SIGINT) != signal.default_int_handler:
        yield
        return

    def lost(frame: FrameType | None) -> bool:
        return frame is not None and frame.f_code.co_filename.startswith("<frozen importlib")

    raised_s = -math.inf

    def heard(number: int, frame: FrameType | None) -> None:
        nonlocal raised_s
        if lost(frame):
            signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
        elif time.monotonic() - raised_s >= TWICE_S:
            raised_s = time.monotonic()
            raise KeyboardInterrupt

    def again(number: int, frame: FrameType | None) -> None:
        if lost(frame):
            signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
        else:
            signal.raise_signal(signal.SIGINT)  # whoever handles it by now

    before = signal.signal(signal.SIGALRM, again)
    signal.signal(signal.SIGINT, heard)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        if signal.getsignal(signal.SIGINT) is heard:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def load_heavy_modules() -> None:
    """Import what takes long. An extension module that is interrupted in its initialisation may abort the process."""
    for name in HEAVY:
        with deferred_interrupts():
            import_module(name)

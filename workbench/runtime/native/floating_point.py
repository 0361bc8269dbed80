"""How floating-point units treat results below the least normal number, and how threads agree on it.

Such numbers (denormal ones) come from the exponentials of a softmax over far-apart scores, and each operation on one
takes x86 a hundred cycles. A network flushes them to zero where they arise, and reads those that it is given as they
are. Elsewhere nothing is changed: other processors lose nothing by them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from workbench.runtime.native.emitter import Emitter, External, Value

#: Bit of x86's control word (MXCSR) that flushes results to zero.
_FLUSH = 1 << 15

_store_control = External("void", "llvm.x86.sse.stmxcsr", "ptr")
_load_control = External("void", "llvm.x86.sse.ldmxcsr", "ptr")


def control(f: Emitter) -> Value:
    """The control word of this thread; 0 where there is nothing to control."""
    if not f.module.x86:
        return f.const(0, "i32")
    word = f.room("i32", "i32", 4)
    _store_control(f, word)
    return word.load()


def set_control(f: Emitter, value: Value) -> None:
    """Compute with this control word from here on."""
    if f.module.x86:
        word = f.room("i32", "i32", 4)
        word.store(value)
        _load_control(f, word)


@contextmanager
def flushing(f: Emitter, on: bool = True) -> Iterator[None]:
    """Code whose results below the least normal number are zero, or not `on`: what they are. The body may leave blocks
    of its own only.
    """
    before = control(f)
    set_control(f, before | _FLUSH if on else before & ~_FLUSH)
    yield
    set_control(f, before)

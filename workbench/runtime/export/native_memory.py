"""Memory of an exported library; `native_contexts` explains the words."""

from __future__ import annotations

from workbench.runtime.buffers import ALIGNMENT, HUGE_PAGE, LEAST_HUGE
from workbench.runtime.native.emitter import I64, Emitter, External, Ptr, native
from workbench.runtime.thread_pool.native_pool import sched_yield

#: Bytes of a small page, and numbers of the system's advice.
_PAGE, _MADV_DONTNEED, _MADV_HUGEPAGE = 4096, 4, 14

free = External("void", "free", "ptr")
memset = External("ptr", "memset", "ptr", "i32", "i64")
memcpy = External("ptr", "memcpy", "ptr", "ptr", "i64")
getpid = External("i32", "getpid")
_posix_memalign = External("i32", "posix_memalign", "ptr", "i64", "i64")
_madvise = External("i32", "madvise", "ptr", "i64", "i32")


@native
def take(f: Emitter, size: I64) -> Ptr:
    """Aligned memory; large blocks on huge pages where the system has them. Null where there is none."""
    slot = f.room("ptr", "ptr", 8)
    large = size.uge(LEAST_HUGE)
    align = large.select(HUGE_PAGE, ALIGNMENT)
    whole = (size + (align - 1)) & (f.const(0) - align)
    with f.when(_posix_memalign(f, slot, align, whole).ne(0)):
        f.ret(f.null())
    with f.when(large):
        _madvise(f, slot.load(), whole, _MADV_HUGEPAGE)
    return slot.load()


@native
def lock_constants(f: Emitter) -> None:
    """Held by a process: one that was forked while another thread held the lock takes it over, because nobody would
    open it.
    """
    own, lock, free = getpid(f), f.variable("constants_lock", "i32"), f.local(0, "i32")
    with f.forever() as tries:
        owner, got = lock.exchange(free.load(), own, "acquire monotonic")
        tries.leave(got)
        free.store(owner)
        with f.when(owner.eq(own) | owner.eq(0)):
            sched_yield(f)
            free.store(0)


@native
def hold_constants(f: Emitter) -> Ptr:
    """Where the constants are, until the same number of calls of drop_constants. All contexts share one copy on huge
    pages, which those of a file are not (measured: products with matrices of 16 to 64 MB are 2 to 4 % faster).
    """
    lock_constants(f)
    users, copy = f.variable("constants_users", "i64"), f.variable("constants_copy", "ptr")
    in_file, size = f.extern("wb_constants"), f.extern("constant_bytes", "i64").load()
    users.increase(1)
    with f.when(users.load().eq(1) & size.uge(LEAST_HUGE)):
        room = take(f, size)
        with f.when(room.ne(0)):
            memcpy(f, room, in_file, size)
            _madvise(f, in_file, size & -_PAGE, _MADV_DONTNEED)
            copy.store(room)
    base = copy.load()
    held = base.null().select(in_file, base)
    f.variable("constants_lock", "i32").store(0, "release")
    return held


@native
def drop_constants(f: Emitter) -> None:
    """End a use of the constants; the copy goes with the last one."""
    lock_constants(f)
    users, copy = f.variable("constants_users", "i64"), f.variable("constants_copy", "ptr")
    users.increase(-1)
    with f.when(users.load().eq(0)):
        free(f, copy.load())
        copy.store(0)
    f.variable("constants_lock", "i32").store(0, "release")

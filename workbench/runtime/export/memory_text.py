"""Memory of an exported library, as LLVM text; `library_text` explains the words."""

from __future__ import annotations

MEMORY = """
; Aligned memory, zeroed; large blocks on huge pages where the system has them.
define internal ptr @take(i64 %bytes) nounwind {
entry:
  %slot = alloca ptr, align 8
  %large = icmp uge i64 %bytes, [LARGE]
  %align = select i1 %large, i64 [HUGE], i64 64
  %up = sub i64 %align, 1
  %more = add i64 %bytes, %up
  %mask = sub i64 0, %align
  %size = and i64 %more, %mask
  %rc = call i32 @posix_memalign(ptr %slot, i64 %align, i64 %size)
  %failed = icmp ne i32 %rc, 0
  br i1 %failed, label %none, label %got
none:
  ret ptr null
got:
  %p = load ptr, ptr %slot, align 8
  br i1 %large, label %advise, label %done
advise:
  %advised = call i32 @madvise(ptr %p, i64 %size, i32 14) ; MADV_HUGEPAGE
  br label %done
done:
  ret ptr %p
}
"""

CONSTANTS = """
@constants_lock = internal global i32 0
@constants_users = internal global i64 0
@constants_copy = internal global ptr null
; Held by a process: one that was forked while another thread held the lock takes it over, because nobody would open it.
define internal void @lock_constants() nounwind {
entry:
  %self = call i32 @getpid()
  br label %try
try:
  %free = phi i32 [ 0, %entry ], [ 0, %wait ], [ %owner, %held ]
  %pair = cmpxchg ptr @constants_lock, i32 %free, i32 %self acquire monotonic
  %got = extractvalue { i32, i1 } %pair, 1
  %owner = extractvalue { i32, i1 } %pair, 0
  br i1 %got, label %out, label %held
held:
  %here = icmp eq i32 %owner, %self
  %open = icmp eq i32 %owner, 0
  %later = or i1 %here, %open
  br i1 %later, label %wait, label %try
wait:
  %gave = call i32 @sched_yield()
  br label %try
out:
  ret void
}
; Where the constants are, until the same number of calls of drop_constants. All contexts share one copy on huge pages,
; which those of a file are not (measured: products with matrices of 16 to 64 MB are 2 to 4 % faster).
define internal ptr @hold_constants() nounwind {
entry:
  call void @lock_constants()
  %users = load i64, ptr @constants_users, align 8
  %users1 = add i64 %users, 1
  store i64 %users1, ptr @constants_users, align 8
  %first = icmp eq i64 %users, 0
  %bytes = load i64, ptr @constant_bytes, align 8
  %large = icmp uge i64 %bytes, [LARGE]
  %wanted = and i1 %first, %large
  br i1 %wanted, label %make, label %done
make:
  %p = call ptr @take(i64 %bytes)
  %none = icmp eq ptr %p, null
  br i1 %none, label %done, label %fill
fill:
  %filled = call ptr @memcpy(ptr %p, ptr @wb_constants, i64 %bytes)
  %pages = and i64 %bytes, -4096
  %advised = call i32 @madvise(ptr @wb_constants, i64 %pages, i32 4) ; MADV_DONTNEED: they are in the file
  store ptr %p, ptr @constants_copy, align 8
  br label %done
done:
  %copy = load ptr, ptr @constants_copy, align 8
  %there = icmp ne ptr %copy, null
  %base = select i1 %there, ptr %copy, ptr @wb_constants
  store atomic i32 0, ptr @constants_lock release, align 4
  ret ptr %base
}
define internal void @drop_constants() nounwind {
entry:
  call void @lock_constants()
  %users = load i64, ptr @constants_users, align 8
  %users1 = sub i64 %users, 1
  store i64 %users1, ptr @constants_users, align 8
  %last = icmp eq i64 %users1, 0
  br i1 %last, label %drop, label %done
drop:
  %copy = load ptr, ptr @constants_copy, align 8
  call void @free(ptr %copy)
  store ptr null, ptr @constants_copy, align 8
  br label %done
done:
  store atomic i32 0, ptr @constants_lock release, align 4
  ret void
}
"""

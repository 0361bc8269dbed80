"""The run and the public functions of an exported library, as LLVM text; `library_text` explains the words."""

from __future__ import annotations

import re

RUN = """
; Where something is during this run. Kinds: 0 input, 1 output, 2 constant, 3 arena; above that, in units of 4, how many
; bytes into an input or output it begins.
define internal ptr @address(ptr %ctx, ptr %what) nounwind {
entry:
  %both = load i64, ptr %what, align 8
  %kind = and i64 %both, 3
  %into = lshr i64 %both, 2
  %atp = getelementptr i8, ptr %what, i64 8
  %at = load i64, ptr %atp, align 8
  %memory = icmp ugt i64 %kind, 1
  br i1 %memory, label %fixed, label %given
given:
  %inputs = load i64, ptr @input_count, align 8
  %isout = icmp eq i64 %kind, 1
  %skip = select i1 %isout, i64 %inputs, i64 0
  %index = add i64 %at, %skip
  %places = getelementptr i8, ptr %ctx, i64 [AT_places]
  %pp = getelementptr ptr, ptr %places, i64 %index
  %p = load ptr, ptr %pp, align 8
  %part = getelementptr i8, ptr %p, i64 %into
  ret ptr %part
fixed:
  %constant = icmp eq i64 %kind, 2
  br i1 %constant, label %data, label %arena
data:
  %cp = getelementptr i8, ptr %ctx, i64 [AT_constants]
  %constants = load ptr, ptr %cp, align 8
  %c = getelementptr i8, ptr %constants, i64 %at
  ret ptr %c
arena:
  %ap = getelementptr i8, ptr %ctx, i64 [AT_arena]
  %base = load ptr, ptr %ap, align 8
  %from = load i64, ptr @arena_at, align 8
  %own = getelementptr i8, ptr %base, i64 %from
  %a = getelementptr i8, ptr %own, i64 %at
  ret ptr %a
}
; Note where inputs (or outputs, whose places begin at %first) are. An input that has a place in memory of our own is
; copied to it, to begin a line of the cache, unless it does already; -1: no such place.
define internal i32 @place(ptr %ctx, ptr %given, ptr %tensors, i64 %n, i64 %first) nounwind {
entry:
  %any = icmp ne i64 %n, 0
  br i1 %any, label %look, label %out
look:
  %nothing = icmp eq ptr %given, null
  br i1 %nothing, label %bad, label %next
bad:
  ret i32 [BAD_ARGUMENT]
next:
  %i = phi i64 [ 0, %look ], [ %i1, %store ]
  %gp = getelementptr ptr, ptr %given, i64 %i
  %p = load ptr, ptr %gp, align 8
  %tensor = getelementptr %tensor, ptr %tensors, i64 %i
  %bp = getelementptr i8, ptr %tensor, i64 24
  %bytes = load i64, ptr %bp, align 8
  %index = add i64 %i, %first
  %null = icmp eq ptr %p, null
  %some = icmp ne i64 %bytes, 0
  %wrong = and i1 %null, %some
  br i1 %wrong, label %bad, label %look_at
look_at:
  %number = ptrtoint ptr %p to i64
  %low = and i64 %number, 63
  %crooked = icmp ne i64 %low, 0
  %sp = getelementptr i64, ptr @stage, i64 %index
  %at = load i64, ptr %sp, align 8
  %has = icmp sge i64 %at, 0
  %move = and i1 %crooked, %has
  br i1 %move, label %fill, label %store
fill:
  %ap = getelementptr i8, ptr %ctx, i64 [AT_arena]
  %base = load ptr, ptr %ap, align 8
  %own = getelementptr i8, ptr %base, i64 %at
  %filled = call ptr @memcpy(ptr %own, ptr %p, i64 %bytes)
  br label %store
store:
  %final = phi ptr [ %p, %look_at ], [ %own, %fill ]
  %places = getelementptr i8, ptr %ctx, i64 [AT_places]
  %pp = getelementptr ptr, ptr %places, i64 %index
  store ptr %final, ptr %pp, align 8
  %i1 = add i64 %i, 1
  %more = icmp ult i64 %i1, %n
  br i1 %more, label %next, label %out
out:
  ret i32 [OK]
}
define internal i32 @run(ptr %ctx, ptr %inputs, ptr %outputs) nounwind {
entry:
  %ni = load i64, ptr @input_count, align 8
  %no = load i64, ptr @output_count, align 8
  %ri = call i32 @place(ptr %ctx, ptr %inputs, ptr @inputs, i64 %ni, i64 0)
  %ro = call i32 @place(ptr %ctx, ptr %outputs, ptr @outputs, i64 %no, i64 %ni)
  %r = or i32 %ri, %ro
  %bad = icmp ne i32 %r, 0
  br i1 %bad, label %fail, label %prepare
fail:
  ret i32 [BAD_ARGUMENT]
prepare:
  %nargs = load i64, ptr @arg_count, align 8
  %places = getelementptr i8, ptr %ctx, i64 [AT_places]
  %nplaces = add i64 %ni, %no
  %table = getelementptr ptr, ptr %places, i64 %nplaces
  br label %argtest
argtest:
  %a = phi i64 [ 0, %prepare ], [ %a1, %arg ]
  %amore = icmp ult i64 %a, %nargs
  br i1 %amore, label %arg, label %walk
arg:
  %what = getelementptr %place, ptr @args, i64 %a
  %p = call ptr @address(ptr %ctx, ptr %what)
  %slot = getelementptr ptr, ptr %table, i64 %a
  store ptr %p, ptr %slot, align 8
  %a1 = add i64 %a, 1
  br label %argtest
walk:
  %rt = getelementptr i8, ptr %ctx, i64 [AT_rt]
  %wp = getelementptr i8, ptr %ctx, i64 [AT_workspace]
  %workspace = load ptr, ptr %wp, align 8
  %ncalls = load i64, ptr @call_count, align 8
  br label %calltest
calltest:
  %k = phi i64 [ 0, %walk ], [ %k1, %call ]
  %kmore = icmp ult i64 %k, %ncalls
  br i1 %kmore, label %call, label %resulttest
call:
  %row = getelementptr %call, ptr @calls, i64 %k
  %fn = load ptr, ptr %row, align 8
  %fp = getelementptr i8, ptr %row, i64 8
  %firstarg = load i64, ptr %fp, align 8
  %bufs = getelementptr ptr, ptr %table, i64 %firstarg
  call void %fn(ptr %bufs, ptr %workspace, ptr %rt)
  %k1 = add i64 %k, 1
  br label %calltest
resulttest:
  %o = phi i64 [ 0, %calltest ], [ %o1, %nextresult ]
  %omore = icmp ult i64 %o, %no
  br i1 %omore, label %result, label %done
result:
  %from = getelementptr %place, ptr @results, i64 %o
  %src = call ptr @address(ptr %ctx, ptr %from)
  %dp = getelementptr ptr, ptr %outputs, i64 %o
  %dst = load ptr, ptr %dp, align 8
  %there = icmp eq ptr %src, %dst
  br i1 %there, label %nextresult, label %copy
copy:
  %tensor = getelementptr %tensor, ptr @outputs, i64 %o
  %bp = getelementptr i8, ptr %tensor, i64 24
  %bytes = load i64, ptr %bp, align 8
  %copied = call ptr @memcpy(ptr %dst, ptr %src, i64 %bytes)
  br label %nextresult
nextresult:
  %o1 = add i64 %o, 1
  br label %resulttest
done:
  ret i32 [OK]
}
"""

PUBLIC = """
define i32 @[P]_create(i32 %threads, ptr %out) nounwind {
entry:
  %null = icmp eq ptr %out, null
  br i1 %null, label %bad, label %look
look:
  store ptr null, ptr %out, align 8
  %default = load i32, ptr @default_threads, align 4
  %zero = icmp eq i32 %threads, 0
  %n = select i1 %zero, i32 %default, i32 %threads
  %few = icmp slt i32 %n, 1
  %many = icmp sgt i32 %n, [MAX]
  %wrong = or i1 %few, %many
  br i1 %wrong, label %bad, label %make
make:
  %rc = call i32 @create(i32 %n, ptr %out)
  ret i32 %rc
bad:
  ret i32 [BAD_ARGUMENT]
}
define void @[P]_destroy(ptr %ctx) nounwind {
entry:
  %null = icmp eq ptr %ctx, null
  br i1 %null, label %out, label %drop
drop:
  call void @unsurround(ptr %ctx)
  call void @drop_constants()
  %ap = getelementptr i8, ptr %ctx, i64 [AT_arena]
  %arena = load ptr, ptr %ap, align 8
  call void @free(ptr %arena)
  call void @free(ptr %ctx)
  br label %out
out:
  ret void
}
define i32 @[P]_run(ptr %ctx, ptr %inputs, ptr %outputs) nounwind {
entry:
  %null = icmp eq ptr %ctx, null
  br i1 %null, label %bad, label %lock
bad:
  ret i32 [BAD_ARGUMENT]
lock:
  %pair = cmpxchg ptr %ctx, i32 0, i32 1 acquire monotonic
  %free = extractvalue { i32, i1 } %pair, 1
  br i1 %free, label %go, label %busy
busy:
  ret i32 [BUSY]
go:
  %rc = call i32 @run(ptr %ctx, ptr %inputs, ptr %outputs)
  store atomic i32 0, ptr %ctx release, align 4
  ret i32 %rc
}
define i32 @[P]_set_threads(ptr %ctx, i32 %threads) nounwind {
entry:
  %null = icmp eq ptr %ctx, null
  %few = icmp slt i32 %threads, 1
  %many = icmp sgt i32 %threads, [MAX]
  %range = or i1 %few, %many
  %wrong = or i1 %null, %range
  br i1 %wrong, label %bad, label %lock
bad:
  ret i32 [BAD_ARGUMENT]
lock:
  %pair = cmpxchg ptr %ctx, i32 0, i32 1 acquire monotonic
  %free = extractvalue { i32, i1 } %pair, 1
  br i1 %free, label %go, label %busy
busy:
  ret i32 [BUSY]
go:
  %rc = call i32 @surround(ptr %ctx, i32 %threads)
  store atomic i32 0, ptr %ctx release, align 4
  ret i32 %rc
}
define i32 @[P]_threads(ptr %ctx) nounwind {
entry:
  %null = icmp eq ptr %ctx, null
  br i1 %null, label %none, label %look
none:
  ret i32 0
look:
  %tp = getelementptr i8, ptr %ctx, i64 [AT_threads]
  %n = load i32, ptr %tp, align 4
  ret i32 %n
}
define i32 @[P]_abi() nounwind {
  ret i32 [ABI]
}
define ptr @[P]_name() nounwind {
  ret ptr @name_text
}
define ptr @[P]_version() nounwind {
  ret ptr @version_text
}
define ptr @[P]_target() nounwind {
  ret ptr @target_text
}
define ptr @[P]_missing_feature() nounwind {
  %name = call ptr @missing()
  ret ptr %name
}
define ptr @[P]_error_text(i32 %code) nounwind {
entry:
  %known = icmp ult i32 %code, [ERRORS]
  %i = select i1 %known, i32 %code, i32 [ERRORS]
  %i64 = zext i32 %i to i64
  %p = getelementptr ptr, ptr @error_texts, i64 %i64
  %text = load ptr, ptr %p, align 8
  ret ptr %text
}
define i32 @[P]_input_count() nounwind {
  %n = load i64, ptr @input_count, align 8
  %n32 = trunc i64 %n to i32
  ret i32 %n32
}
define i32 @[P]_output_count() nounwind {
  %n = load i64, ptr @output_count, align 8
  %n32 = trunc i64 %n to i32
  ret i32 %n32
}
define internal ptr @row(ptr %table, i64 %n, i32 %index) nounwind {
entry:
  %i = sext i32 %index to i64
  %there = icmp ult i64 %i, %n
  br i1 %there, label %some, label %none
some:
  %p = getelementptr %tensor, ptr %table, i64 %i
  ret ptr %p
none:
  ret ptr null
}
define ptr @[P]_input(i32 %index) nounwind {
  %n = load i64, ptr @input_count, align 8
  %p = call ptr @row(ptr @inputs, i64 %n, i32 %index)
  ret ptr %p
}
define ptr @[P]_output(i32 %index) nounwind {
  %n = load i64, ptr @output_count, align 8
  %p = call ptr @row(ptr @outputs, i64 %n, i32 %index)
  ret ptr %p
}
"""

#: Names of the public functions, without the prefix.
FUNCTIONS = tuple(re.findall(r"@\[P\]_(\w+)\(", PUBLIC))

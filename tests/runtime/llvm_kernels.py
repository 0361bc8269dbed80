"""Hand-written kernels in the kernel ABI, and small functions, so that the runtime is tested without the code
generator.
"""

import functools

from workbench import te
from workbench.codegen.llvm.llvmlite_binding import compile_ir
from workbench.codegen.lowering import ObjectCode, ParamInfo

# C[i] = A[i] + %ADD%, one task per block of 64 elements, launched through rt; each task counts itself in the workspace.
ADD = """
define void @body(ptr %ctx, i64 %task, i64 %tid) {
entry:
  %a = load ptr, ptr %ctx
  %cp = getelementptr ptr, ptr %ctx, i64 1
  %c = load ptr, ptr %cp
  %first = shl i64 %task, 6
  br label %l
l:
  %k = phi i64 [ 0, %entry ], [ %k1, %l ]
  %i = add i64 %first, %k
  %p = getelementptr float, ptr %a, i64 %i
  %q = getelementptr float, ptr %c, i64 %i
  %v = load float, ptr %p
  %w = fadd float %v, %ADD%
  store float %w, ptr %q
  %k1 = add i64 %k, 1
  %m = icmp ult i64 %k1, 64
  br i1 %m, label %l, label %x
x:
  ret void
}
define void @kernel(ptr %bufs, ptr %ws, ptr %rt) {
  %pp = getelementptr ptr, ptr %rt, i64 1
  %lp = getelementptr ptr, ptr %rt, i64 2
  %pool = load ptr, ptr %pp
  %launch = load ptr, ptr %lp
  call void %launch(ptr %pool, ptr @body, ptr %bufs, i64 %TASKS%)
  ret void
}
"""

CRASH = "define void @kernel(ptr %b, ptr %w, ptr %r) {\n store i32 1, ptr inttoptr (i64 8 to ptr)\n ret void\n}"

HANG = """
define void @kernel(ptr %b, ptr %w, ptr %r) {
entry:
  br label %l
l:
  store volatile i32 1, ptr %b
  br label %l
}
"""

NOTHING = "define void @kernel(ptr %b, ptr %w, ptr %r) {\n ret void\n}"

# Writes the right result and then one element too many.
OVERRUN = (
    ADD.replace("ret void\n}\n", "ret void\n}\n", 1).replace("define void @kernel", "define void @right", 1)
    + """
define void @kernel(ptr %bufs, ptr %ws, ptr %rt) {
  call void @right(ptr %bufs, ptr %ws, ptr %rt)
  %cp = getelementptr ptr, ptr %bufs, i64 1
  %c = load ptr, ptr %cp
  %q = getelementptr float, ptr %c, i64 %SIZE%
  store float 1.0, ptr %q
  ret void
}
"""
)


def add_func(n, value=1.0, name="add"):
    """C[i] = A[i] + value."""
    a = te.placeholder((n,), name="A")
    return te.func(te.compute((n,), lambda i: a[i] + value, name="C"), name)


def text(source, n, value=1.0):
    return source.replace("%ADD%", f"{value:e}").replace("%TASKS%", str(n // 64)).replace("%SIZE%", str(n))


@functools.cache
def code(source, n, value=1.0, shared=0, per_thread=0):
    """Object code of one of the texts above for arrays of n elements."""
    llvm = text(source, n, value)
    params = (ParamInfo("A", "input", (n,), "float32"), ParamInfo("C", "output", (n,), "float32"))
    return ObjectCode(compile_ir(llvm), "kernel", llvm, params, shared, per_thread)

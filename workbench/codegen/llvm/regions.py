"""Parallel regions: the call of the runtime's launch function, and what a region finds in its context."""

from __future__ import annotations

from workbench.codegen.llvm.builder import FunctionBuilder
from workbench.codegen.llvm.values import Value, index


def region_context(fb: FunctionBuilder) -> Value:
    """Keep the arguments of an entry point where its regions find them; returns their address."""
    ctx = fb.alloca("[2 x ptr]", 16)
    fb.effect(f"store ptr %bufs, ptr {ctx.text}, align 8")
    fb.effect(f"store ptr %workspace, {fb.gep(ctx, index(1), 'ptr').typed}, align 8")
    return ctx


def context_arguments(fb: FunctionBuilder) -> tuple[Value, Value]:
    """Buffers and workspace, in a region."""
    bufs = fb.pure("load ptr, ptr %ctx, align 8", "ptr", 1, ())
    at = fb.gep(Value("%ctx", "ptr"), index(1), "ptr")
    return bufs, fb.pure(f"load ptr, {at.typed}, align 8", "ptr", 1, ())


def launch_region(fb: FunctionBuilder, region: str, ctx: Value, tasks: int) -> None:
    """Run a region for so many tasks, by the runtime of an entry point."""
    rt = Value("%rt", "ptr")
    pool_at, launch_at = fb.gep(rt, index(1), "ptr"), fb.gep(rt, index(2), "ptr")
    pool = fb.pure(f"load ptr, {pool_at.typed}, align 8", "ptr", 1, (pool_at,))
    launch = fb.pure(f"load ptr, {launch_at.typed}, align 8", "ptr", 1, (launch_at,))
    fb.effect(f"call void {launch.text}(ptr {pool.text}, ptr @{region}, ptr {ctx.text}, i64 {tasks})")


def entry_signature(symbol: str) -> str:
    """Head of the definition of an entry point."""
    return f"void @{symbol}(ptr %bufs, ptr %workspace, ptr %rt)"


def region_signature(name: str) -> str:
    """Head of the definition of a region."""
    return f"internal void @{name}(ptr %ctx, i64 %task, i64 %tid)"


def tail(attributes: str) -> list[str]:
    """What stands behind the functions of a module."""
    return [
        f"attributes #0 = {{ {attributes} }}",
        "!0 = distinct !{!0, !1}",
        '!1 = !{!"llvm.loop.unroll.disable"}',
    ]

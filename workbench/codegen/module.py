"""From a concrete function to object code: temporaries are placed, parallel loops become regions, text goes to LLVM.

The entry point is ``void symbol(ptr bufs, ptr workspace, ptr rt)``. Every top-level parallel nest is a function of
its own, ``void region(ptr ctx, i64 task, i64 tid)``, that the runtime's launch function calls once per task.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import BuildError
from ..ir.compact import compact, scopes
from ..ir.func import Buffer, Func
from ..ir.stmt import For, Stmt, accesses, blocks, loops
from ..ir.units import drop_unit_loops
from .builder import FunctionBuilder, Value, index
from .exprs import ZERO_BYTES, ZEROS
from .llvm_bind import compile_ir
from .nest import NestEmitter

if TYPE_CHECKING:
    from ..target import Target

#: Temporaries up to this size live on the stack of the function that uses them.
STACK_BYTES = 16 << 10
#: Parallel nests are cut into at most this many tasks per thread.
TASKS_PER_THREAD = 8
_ALIGN = 64


@dataclass(frozen=True, slots=True)
class ParamInfo:
    """One parameter of a kernel, in the layout that the code expects."""

    name: str
    role: str
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class ObjectCode:
    """A compiled function.

    Attributes
    ----------
    object : bytes
        Relocatable object file.
    symbol : str
        Entry point.
    llvm : str
        The LLVM text before LLVM's passes.
    params : tuple of ParamInfo
        What ``bufs`` points to, in order.
    shared_bytes, per_thread_bytes : int
        Workspace: ``shared_bytes + threads * per_thread_bytes``.
    """

    object: bytes
    symbol: str
    llvm: str
    params: tuple[ParamInfo, ...]
    shared_bytes: int
    per_thread_bytes: int


@dataclass(frozen=True, slots=True)
class _Placed:
    """Where a temporary lives: "stack", "shared" or "thread", with its offset in the workspace."""

    kind: str
    offset: int
    nbytes: int


def build_func(func: Func, target: Target, symbol: str = "kernel", poison: bool = False) -> ObjectCode:
    """Generate object code for a concrete function.

    Parameters
    ----------
    func : Func
        Scheduled or not; no open holes.
    target : Target
        Machine to generate for.
    symbol : str
        Name of the entry point.
    poison : bool
        Fill stack temporaries with NaN first, so that a read before a write shows (for tests).

    Raises
    ------
    BuildError
        "build.holes" when a number is still open, "build.too_large", "build.llvm".
    """
    text, shared, per_thread = emit_module(func, target, symbol, poison)
    params = tuple(ParamInfo(b.name, b.role, _ints(b), b.dtype) for b in func.params)
    return ObjectCode(compile_ir(text, target), symbol, text, params, shared, per_thread)


def emit_module(func: Func, target: Target, symbol: str, poison: bool = False) -> tuple[str, int, int]:
    """Return the LLVM text and the workspace sizes (shared, per thread) in bytes."""
    if not func.is_concrete:
        names = ", ".join(h.name for h in func.holes)
        raise BuildError(
            "build.holes", f"The schedule still has open numbers: {names}.", (func.name,), "fill them: s.fill({...})"
        )
    func = compact(drop_unit_loops(func))
    home = {name: scope.path for name, scope in scopes(func).items()}
    return _ModuleEmitter(func, target, symbol, poison, home).emit()


class _ModuleEmitter:
    def __init__(self, func: Func, target: Target, symbol: str, poison: bool, home: dict[str, tuple[For, ...]]) -> None:
        self._func, self._target, self._symbol, self._poison = func, target, symbol, poison
        self._extents = {lp.name: _int(lp.extent) for lp, _ in loops(func.body)}
        self._buffers = {b.name: b for b in func.buffers}
        self._home = home
        self._placed, self._shared, self._per_thread = self._place()
        self._functions: list[str] = []
        self._declarations: dict[str, str] = {}

    def emit(self) -> tuple[str, int, int]:
        entry = FunctionBuilder()
        args = _Arguments(Value("%bufs", "ptr"), Value("%workspace", "ptr"), index(0))
        nest: NestEmitter | None = None
        ctx: Value | None = None
        for k, s in enumerate(self._func.body):
            chain = _parallel_chain(s)
            if chain:
                ctx = ctx or self._context(entry)
                tasks = self._region(f"{self._symbol}.r{k}", chain)
                self._launch(entry, f"{self._symbol}.r{k}", ctx, tasks)
                if nest is not None:
                    for b, _ in blocks((s,)):
                        nest.ex.touch(b.buffer)
            else:
                # One emitter for all nests: it knows which buffers changed since they were read.
                nest = nest or self._nest(entry, self._pointers(entry, args))
                nest.start()
                nest.body((s,))
        self._finish(entry, f"void @{self._symbol}(ptr %bufs, ptr %workspace, ptr %rt)")
        zeros = f"{ZEROS} = internal global [{ZERO_BYTES} x i8] zeroinitializer, align 64"
        tail = [
            'attributes #0 = { nounwind "prefer-vector-width"="512" }',
            "!0 = distinct !{!0, !1}",
            '!1 = !{!"llvm.loop.unroll.disable"}',
        ]
        parts = [zeros, *self._declarations.values(), *self._functions, *tail]
        return "\n".join(parts) + "\n", self._shared, self._per_thread

    def _finish(self, fb: FunctionBuilder, signature: str) -> None:
        self._functions.append(fb.text(signature))
        self._declarations.update(fb.declarations)

    def _nest(self, fb: FunctionBuilder, pointers: dict[str, Value]) -> NestEmitter:
        return NestEmitter(fb, self._buffers, pointers, self._extents, self._target.vector_bytes)

    # ---- memory ----------------------------------------------------------------------------------------------------

    def _place(self) -> tuple[dict[str, _Placed], int, int]:
        placed: dict[str, _Placed] = {}
        shared = per_thread = 0
        for b in self._func.buffers:
            if b.role != "temp":
                continue
            size = -(-b.nbytes // _ALIGN) * _ALIGN
            if not self._home.get(b.name):
                placed[b.name], shared = _Placed("shared", shared, b.nbytes), shared + size
            elif b.nbytes <= STACK_BYTES:
                placed[b.name] = _Placed("stack", 0, b.nbytes)
            else:
                placed[b.name], per_thread = _Placed("thread", per_thread, b.nbytes), per_thread + size
        return placed, shared, per_thread

    def _pointers(self, fb: FunctionBuilder, args: _Arguments, used: set[str] | None = None) -> dict[str, Value]:
        out: dict[str, Value] = {}
        for k, b in enumerate(self._func.params):
            if used is not None and b.name not in used:
                continue
            at = fb.gep(args.bufs, index(k), "ptr")
            out[b.name] = fb.pure(f"load ptr, {at.typed}, align 8", "ptr", 1, (at,))
        for name, p in self._placed.items():
            if p.kind == "stack":
                if used is None or name in used:
                    out[name] = self._stack(fb, p)
                continue
            base = args.workspace
            if p.kind == "thread":
                base = fb.gep(base, fb.add(fb.mul(args.tid, self._per_thread), index(self._shared)), "i8")
            out[name] = fb.gep(base, index(p.offset), "i8")
        return out

    def _stack(self, fb: FunctionBuilder, p: _Placed) -> Value:
        slot = fb.alloca(f"[{p.nbytes} x i8]")
        if self._poison:
            fb.declare("llvm.memset.p0.i64", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
            fb.effect(f"call void @llvm.memset.p0.i64(ptr {slot.text}, i8 -1, i64 {p.nbytes}, i1 false)", 0)
        return slot

    # ---- parallel regions ------------------------------------------------------------------------------------------

    def _context(self, fb: FunctionBuilder) -> Value:
        ctx = fb.alloca("[2 x ptr]", 16)
        fb.effect(f"store ptr %bufs, ptr {ctx.text}, align 8")
        fb.effect(f"store ptr %workspace, {fb.gep(ctx, index(1), 'ptr').typed}, align 8")
        return ctx

    def _launch(self, fb: FunctionBuilder, region: str, ctx: Value, tasks: int) -> None:
        rt = Value("%rt", "ptr")
        pool_at, launch_at = fb.gep(rt, index(1), "ptr"), fb.gep(rt, index(2), "ptr")
        pool = fb.pure(f"load ptr, {pool_at.typed}, align 8", "ptr", 1, (pool_at,))
        launch = fb.pure(f"load ptr, {launch_at.typed}, align 8", "ptr", 1, (launch_at,))
        fb.effect(f"call void {launch.text}(ptr {pool.text}, ptr @{region}, ptr {ctx.text}, i64 {tasks})")

    def _region(self, name: str, chain: list[For]) -> int:
        """Emit the function that runs one task of a parallel nest; returns the number of tasks."""
        fb = FunctionBuilder()
        ctx = Value("%ctx", "ptr")
        bufs = fb.pure("load ptr, ptr %ctx, align 8", "ptr", 1, ())
        at = fb.gep(ctx, index(1), "ptr")
        workspace = fb.pure(f"load ptr, {at.typed}, align 8", "ptr", 1, ())
        used = {a.buffer for b, _ in blocks((chain[0],)) for a in accesses(b)}
        pointers = self._pointers(fb, _Arguments(bufs, workspace, Value("%tid", "int64")), used)
        nest = self._nest(fb, pointers)
        total = math.prod(_int(lp.extent) for lp in chain)
        tasks = min(total, TASKS_PER_THREAD * max(1, self._target.threads))
        task = Value("%task", "int64")

        def iteration(linear: Value) -> None:
            rest = linear
            for lp in reversed(chain):
                nest.ex.env[lp.name] = fb.urem(rest, _int(lp.extent)) if lp is not chain[0] else rest
                rest = fb.udiv(rest, _int(lp.extent))
            nest.body(chain[-1].body)

        if tasks == total:
            iteration(task)
        else:
            start = fb.udiv(fb.mul(task, total), tasks)
            stop = fb.udiv(fb.mul(fb.add(task, index(1)), total), tasks)
            fb.loop(start, stop, 1, iteration, "task")
        self._finish(fb, f"internal void @{name}(ptr %ctx, i64 %task, i64 %tid)")
        return tasks


@dataclass(frozen=True, slots=True)
class _Arguments:
    bufs: Value
    workspace: Value
    tid: Value


def _parallel_chain(s: Stmt) -> list[For]:
    """Adjacent parallel loops from the top of a nest, outermost first."""
    chain: list[For] = []
    while isinstance(s, For) and s.kind == "parallel":
        chain.append(s)
        if len(s.body) != 1:
            break
        s = s.body[0]
    return chain


def _ints(b: Buffer) -> tuple[int, ...]:
    return tuple(_int(d) for d in b.shape)


def _int(d: object) -> int:
    assert isinstance(d, int)
    return d

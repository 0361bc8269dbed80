"""From a concrete function to the text of an LLVM module: temporaries are placed, parallel loops become regions.

The entry point is ``void symbol(ptr bufs, ptr workspace, ptr rt)``. Every top-level parallel nest is a function of
its own, ``void region(ptr ctx, i64 task, i64 tid)``, that the runtime's launch function calls once per task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.architectures import architecture
from workbench.codegen.constants import Padding
from workbench.codegen.llvm.builder import FunctionBuilder
from workbench.codegen.llvm.expressions import ExprEmitter
from workbench.codegen.llvm.loops import NestEmitter
from workbench.codegen.llvm.memory_access import ZEROS
from workbench.codegen.llvm.regions import (
    context_arguments,
    entry_signature,
    launch_region,
    region_context,
    region_signature,
    tail,
)
from workbench.codegen.llvm.values import Value, index
from workbench.codegen.lowering import cut, lowered
from workbench.codegen.row_padding import with_slack
from workbench.codegen.temporary_storage import Placed, place
from workbench.ir import For, Func, blocks, loops
from workbench.ir.poly import concrete
from workbench.ir.stmt import parallel_chain, touched

if TYPE_CHECKING:
    from workbench.target import Target


def emit_module(
    func: Func, target: Target, symbol: str, poison: bool = False, attributes: Sequence[str] = ()
) -> tuple[str, int, int]:
    """Return the LLVM text and the workspace sizes (shared, per thread) in bytes.

    Parameters
    ----------
    func : Func
        Concrete, scheduled or not.
    target : Target
        Machine to generate for.
    symbol : str
        Name of the entry point.
    poison : bool
        Fill stack temporaries with NaN first.
    attributes : sequence of str
        Further attributes of every function, as the architecture wants them.
    """
    return ModuleEmitter(as_emitted(func, target), target, symbol, poison, attributes).emit()


def as_emitted(func: Func, target: Target) -> Func:
    """Return the function that code is emitted for: lowered, and with room at the ends of its temporaries."""
    return with_slack(lowered(func), target.vector_bytes)


class ModuleEmitter:
    """Emits one module; see `emit_module`."""

    def __init__(
        self,
        func: Func,
        target: Target,
        symbol: str,
        poison: bool,
        attributes: Sequence[str],
        builder: Callable[[Iterable[str]], FunctionBuilder] = FunctionBuilder,
    ) -> None:
        self._builder = builder
        self._func, self._target, self._symbol, self._poison = func, target, symbol, poison
        self._attributes = " ".join(("nounwind", *attributes))
        self._extents = {lp.name: concrete(lp.extent) for lp, _ in loops(func.body)}
        self._buffers = {b.name: b for b in func.buffers}
        memory = place(func)
        self._placed, self._shared, self._per_thread = memory.placed, memory.shared, memory.per_thread
        #: Lines of each function.
        self.functions: list[list[str]] = []
        self._declarations: dict[str, str] = {}

    def emit(self) -> tuple[str, int, int]:
        """Return the text and the workspace sizes."""
        self.generate()
        parts = [*self.head(), *(line for lines in self.functions for line in lines), *self.tail()]
        return "\n".join(parts) + "\n", self._shared, self._per_thread

    def generate(self) -> None:
        """Emit all functions."""
        entry = self._builder(self._target.isa)
        args = _Arguments(Value("%bufs", "ptr"), Value("%workspace", "ptr"), index(0))
        nest: NestEmitter | None = None
        ctx: Value | None = None
        for k, s in enumerate(self._func.body):
            chain = parallel_chain(s)
            if chain:
                ctx = ctx or region_context(entry)
                tasks = self._region(f"{self._symbol}.r{k}", chain)
                launch_region(entry, f"{self._symbol}.r{k}", ctx, tasks)
                if nest is not None:
                    for b, _ in blocks((s,)):
                        nest.ex.touch(b.buffer)
            else:
                # One emitter for all nests: it knows which buffers changed since they were read.
                nest = nest or self._nest(entry, self._pointers(entry, args))
                nest.start()
                nest.body((s,))
        self._finish(entry, entry_signature(self._symbol))

    def head(self) -> list[str]:
        """Return what stands before the functions."""
        # Only where they are read: every loaded kernel has its own.
        used = any(ZEROS in line for lines in self.functions for line in lines)
        zeros = [f"{ZEROS} = internal global [{Padding.ZERO_BYTES} x i8] zeroinitializer, align 64"] if used else []
        return [*zeros, *self._declarations.values()]

    def tail(self) -> list[str]:
        """Return what stands behind the functions."""
        return tail(self._attributes)

    def _finish(self, fb: FunctionBuilder, signature: str) -> None:
        self.functions.append(fb.lines(signature))
        self._declarations.update(fb.declarations)

    def _nest(self, fb: FunctionBuilder, pointers: dict[str, Value]) -> NestEmitter:
        target = self._target
        masked = architecture(target.arch).mask_bytes(target.isa)
        ex = ExprEmitter(fb, self._buffers, pointers, dict(self._extents), masked, target.line_bytes)
        return NestEmitter(ex, target.vector_bytes)

    # ---- memory ----------------------------------------------------------------------------------------------------

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

    def _stack(self, fb: FunctionBuilder, p: Placed) -> Value:
        slot = fb.alloca(f"[{p.nbytes} x i8]")
        if self._poison:
            fb.declare("llvm.memset.p0.i64", "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
            fb.effect(f"call void @llvm.memset.p0.i64(ptr {slot.text}, i8 -1, i64 {p.nbytes}, i1 false)", 0)
        return slot

    # ---- parallel regions ------------------------------------------------------------------------------------------

    def _region(self, name: str, chain: list[For]) -> int:
        """Emit the function that runs one task of a parallel nest; returns the number of tasks."""
        fb = self._builder(self._target.isa)
        bufs, workspace = context_arguments(fb)
        used = {name for b, _ in blocks((chain[0],)) for name in touched(b)}
        pointers = self._pointers(fb, _Arguments(bufs, workspace, Value("%tid", "int64")), used)
        nest = self._nest(fb, pointers)
        total, tasks = cut(chain, self._target.threads)
        task = Value("%task", "int64")

        for lp in chain:
            nest.look_ahead(lp)

        def iteration(linear: Value) -> None:
            rest = linear
            nest.ex.env.update({lp.name: index(0) for lp in chain})  # known from the outside in
            for lp, outer in zip(reversed(chain), (*chain[-2::-1], chain[0]), strict=True):
                with fb.at(lp.name):
                    nest.ex.env[lp.name] = fb.urem(rest, concrete(lp.extent)) if lp is not chain[0] else rest
                with fb.at(outer.name):
                    rest = fb.udiv(rest, concrete(lp.extent))
            nest.body(chain[-1].body)

        with fb.at(chain[-1].name):
            if tasks == total:
                iteration(task)
            else:
                start = fb.udiv(fb.mul(task, total), tasks)
                stop = fb.udiv(fb.mul(fb.add(task, index(1)), total), tasks)
                fb.loop(start, stop, 1, iteration, "task")
        self._finish(fb, region_signature(name))
        return tasks


@dataclass(frozen=True, slots=True)
class _Arguments:
    bufs: Value
    workspace: Value
    tid: Value

"""The run and the public functions of an exported library; `native_contexts` explains the words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from workbench.runtime.buffers import ALIGNMENT
from workbench.runtime.export.cpu_features import missing
from workbench.runtime.export.native_contexts import (
    ABI,
    CALL,
    ERRORS,
    KIND_BITS,
    KINDS,
    PLACE,
    TENSOR,
    Context,
    code,
    create_context,
    drop_context,
    number,
    surround,
    unsurround,
)
from workbench.runtime.export.native_memory import memcpy
from workbench.runtime.native.emitter import I32, I64, Emitter, Native, Pointers, Ptr, Value, native
from workbench.runtime.native.floating_point import flushing
from workbench.runtime.native.structs import Pointer
from workbench.runtime.thread_pool.native_pool import MAX_THREADS, RUNTIME

Place = Annotated[Value, Pointer(PLACE)]
Tensors = Annotated[Value, Pointer(TENSOR)]


@native
def address(f: Emitter, ctx: Context, place: Place) -> Ptr:
    """Where something is during this run."""
    what, at = place["what"].load(), place["at"].load()
    kind = what & ((1 << KIND_BITS) - 1)
    with f.when(kind.eq(KINDS["const"])):
        f.ret(ctx["constants"].load().offset(at))
    with f.when(kind.eq(KINDS["arena"])):
        f.ret(ctx["arena"].load().offset(number(f, "arena_at")).offset(at))
    first = kind.eq(KINDS["output"]).select(number(f, "input_count"), 0)
    return ctx["places"][at + first].load().offset(what >> KIND_BITS)


@native
def place(f: Emitter, ctx: Context, given: Pointers, tensors: Tensors, count: I64, first: I64) -> I32:
    """Note where inputs (or outputs, whose places begin at `first`) are. An input that has a place in memory of our own
    is copied to it, to begin a line of the cache, unless it does already; -1: no such place.
    """
    with f.range(count) as i:
        with f.when(given.null()):
            f.ret(code(f, "BAD_ARGUMENT"))
        there, nbytes = given[i].load(), tensors[i]["bytes"].load()
        with f.when(there.null() & nbytes.ne(0)):
            f.ret(code(f, "BAD_ARGUMENT"))
        final = f.local(there)
        copy_at = f.extern("stage", "i64")[i + first].load()
        with f.when((there.cast("ptrtoint", "i64") & (ALIGNMENT - 1)).ne(0) & copy_at.sge(0)):
            final.store(ctx["arena"].load().offset(copy_at))
            memcpy(f, final.load(), there, nbytes)
        ctx["places"][i + first].store(final.load())
    return code(f, "OK")


@native
def run_network(f: Emitter, ctx: Context, inputs: Pointers, outputs: Pointers) -> I32:
    """Run the network once."""
    into, out = number(f, "input_count"), number(f, "output_count")
    results = f.extern("outputs", TENSOR)
    wrong = place(f, ctx, inputs, f.extern("inputs", TENSOR), into, 0) | place(f, ctx, outputs, results, out, into)
    with f.when(wrong.ne(0)):
        f.ret(code(f, "BAD_ARGUMENT"))
    table = ctx["places"][into + out]
    with f.range(number(f, "arg_count")) as k:
        table[k].store(address(f, ctx, f.extern("args", PLACE)[k]))
    rt, workspace = ctx["rt"].as_(RUNTIME), ctx["workspace"].load()
    with flushing(f), f.range(number(f, "call_count")) as k:
        row = f.extern("calls", CALL)[k]
        row["fn"].load()(table[row["first"].load()], workspace, rt)
    with f.range(out) as k:
        made, wanted = address(f, ctx, f.extern("results", PLACE)[k]), outputs[k].load()
        with f.when(made.ne(wanted)):
            memcpy(f, wanted, made, results[k]["bytes"].load())
    return code(f, "OK")


# ---- what C sees ----

#: The public functions by their names without the prefix.
PUBLIC: dict[str, Native] = {}


def public(body: Callable[..., Value | None], name: str = "") -> None:
    """Declare a function whose name begins with the network's prefix; the header says what it does."""
    name = name or body.__name__.removeprefix("_")
    PUBLIC[name] = Native(body, f"_{name}", internal=False)


def _refuse(f: Emitter, condition: Value, error: str) -> None:
    with f.when(condition):
        f.ret(code(f, error))


def _alone(f: Emitter, ctx: Value, work: Native, *args: Value) -> Value:
    """Do something with a context while nobody else does."""
    _refuse(f, ctx["busy"].exchange(0, 1, "acquire monotonic")[1].eq(0), "BUSY")
    result = work(f, ctx, *args)
    ctx["busy"].store(0, "release")
    return result


@public
def _create(f: Emitter, threads: I32, out: Pointers) -> I32:
    _refuse(f, out.null(), "BAD_ARGUMENT")
    out.store(0)
    wanted = threads.eq(0).select(f.extern("default_threads", "i32").load(), threads)
    _refuse(f, wanted.slt(1) | wanted.sgt(MAX_THREADS), "BAD_ARGUMENT")
    return create_context(f, wanted, out)


@public
def _destroy(f: Emitter, ctx: Context) -> None:
    with f.when(ctx.ne(0)):
        unsurround(f, ctx)
        drop_context(f, ctx)


@public
def _run(f: Emitter, ctx: Context, inputs: Pointers, outputs: Pointers) -> I32:
    _refuse(f, ctx.null(), "BAD_ARGUMENT")
    return _alone(f, ctx, run_network, inputs, outputs)


@public
def _set_threads(f: Emitter, ctx: Context, threads: I32) -> I32:
    _refuse(f, ctx.null() | threads.slt(1) | threads.sgt(MAX_THREADS), "BAD_ARGUMENT")
    return _alone(f, ctx, surround, threads)


@public
def _threads(f: Emitter, ctx: Context) -> I32:
    with f.when(ctx.null()):
        f.ret(f.const(0, "i32"))
    return ctx["threads"].load()


@public
def _abi(f: Emitter) -> I32:
    return f.const(ABI, "i32")


@public
def _missing_feature(f: Emitter) -> Ptr:
    return missing(f)


@public
def _error_text(f: Emitter, number: I32) -> Ptr:
    known = number.ult(len(ERRORS)).select(number, len(ERRORS))
    return f.extern("error_texts", "ptr")[known.cast("zext", "i64")].load()


def _text(name: str) -> None:
    def text(f: Emitter) -> Ptr:
        return f.extern(f"{name}_text")

    public(text, name)


def _side(name: str) -> None:
    """The functions of inputs, or of outputs."""

    def count(f: Emitter) -> I32:
        return number(f, f"{name}_count").cast("trunc", "i32")

    def row(f: Emitter, index: I32) -> Ptr:
        at = index.cast("sext", "i64")
        with f.when(at.uge(number(f, f"{name}_count"))):
            f.ret(f.null())
        return f.extern(f"{name}s", TENSOR)[at]

    public(count, f"{name}_count")
    public(row, name)


for _name in ("name", "version", "target"):
    _text(_name)
for _name in ("input", "output"):
    _side(_name)

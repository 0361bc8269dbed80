"""A whole function as one C99 file.

Every top-level nest is a function of its own, ``nestK(ctx, task, tid)``. The entry calls them in order; a parallel nest
is run through the runtime's launch function, or task by task where no runtime is given, so that the file is complete
in itself: ``kernel(bufs, workspace, NULL)``.
"""

from __future__ import annotations

import math

from ...ir.func import Buffer, Func
from ...ir.stmt import For, Stmt, accesses, blocks, loops
from ...target import Target
from ..lowering import TASKS_PER_THREAD, lowered
from ..memory import place
from .exprs import ExprPrinter
from .helpers import MEMORY_TYPE, Helpers
from .names import Names
from .nest import NestPrinter, comment

_HEAD = """#include <math.h>
#include <stdint.h>
#include <string.h>

/* Hints that a compiler may ignore. */
#define PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define VECTOR_LOOP PRAGMA(clang loop vectorize(assume_safety))
#define UNROLL(n) PRAGMA(clang loop unroll_count(n))
#elif defined(__GNUC__)
#define VECTOR_LOOP PRAGMA(GCC ivdep)
#define UNROLL(n) PRAGMA(GCC unroll n)
#else
#define VECTOR_LOOP
#define UNROLL(n)
#endif
#if defined(__GNUC__)
#define ALIGNED __attribute__((aligned(64)))
#else
#define ALIGNED
#endif"""

_RUNTIME = """/* Runs one task of a nest; `tid` is the thread's number. */
typedef void (*Region)(void *ctx, int64_t task, int64_t tid);

typedef struct {
    void **bufs;
    char *workspace;
    void **locals;
} Context;"""

_LAUNCH = """/* What the caller lends: threads, and a function that runs all tasks of a nest on them. */
typedef struct {
    int64_t threads;
    void *pool;
    void (*launch)(void *pool, Region nest, void *ctx, int64_t tasks);
} Runtime;

static void run_tasks(const Runtime *rt, Region nest, Context *ctx, int64_t tasks) {
    if (rt) {
        rt->launch(rt->pool, nest, ctx, tasks);
    } else {
        for (int64_t task = 0; task < tasks; ++task) nest(ctx, task, 0);
    }
}"""


def print_module(func: Func, target: Target, symbol: str, poison: bool = False) -> tuple[str, int, int]:
    """Return the C text and the workspace in bytes: shared, per thread."""
    return _ModulePrinter(lowered(func), target, symbol, poison).text()


class _ModulePrinter:
    def __init__(self, func: Func, target: Target, symbol: str, poison: bool) -> None:
        self._func, self._target, self._symbol, self._poison = func, target, symbol, poison
        self._names, self._helpers, self._memory = Names(symbol), Helpers(), place(func)
        self._buffers = {b.name: b for b in func.buffers}
        self._extents = {lp.name: _int(lp.extent) for lp, _ in loops(func.body)}
        # Buffers first: their names are the ones that a reader looks for.
        for b in func.buffers:
            self._names("buffer", b.name)

    def text(self) -> tuple[str, int, int]:
        nests: list[str] = []
        calls: list[str] = []
        for k, s in enumerate(self._func.body):
            chain = _parallel_chain(s)
            text, tasks = self._nest(f"nest{k}", s, chain)
            nests.append(text)
            run = f"run_tasks(rt, nest{k}, &ctx, {tasks});" if chain else f"nest{k}(&ctx, 0, 0);"
            calls.append(f"    {run}")
        entry = [
            f"void {self._symbol}(void **bufs, void *workspace, void *rt) {{",
            *self._locals(),
            *calls,
            "    (void)ctx;",
            "    (void)rt;",
            "}",
        ]
        launch = [_LAUNCH] if any(_parallel_chain(s) for s in self._func.body) else []
        helpers = [text] if (text := self._helpers.text()) else []
        parts = [self._title(), _HEAD, _RUNTIME, *launch, *helpers, *nests, "\n".join(entry)]
        return "\n\n".join(parts) + "\n", self._memory.shared, self._memory.per_thread

    def _locals(self) -> list[str]:
        """Declare the temporaries on the stack that several nests use, and what all nests are given."""
        printer = self._printer()
        printer.variables(None, 1)
        names = ", ".join(self._names("buffer", n) for n in self._common())
        both = [f"    void *locals[] = {{{names}}};"] if names else []
        last = "locals" if names else "NULL"
        return [*printer.lines, *both, f"    Context ctx = {{bufs, workspace, {last}}};"]

    def _common(self) -> list[str]:
        return [n for n, p in self._memory.placed.items() if p.kind == "stack" and p.loop is None]

    def _printer(self) -> NestPrinter:
        ex = ExprPrinter(self._buffers, self._extents, self._names, self._helpers)
        return NestPrinter(ex, self._names, self._buffers, self._memory.placed, self._poison)

    def _title(self) -> str:
        rows = [f"/* {comment(self._func.name)}", " *"]
        rows += [f" * bufs[{k}]: {b.role} {_described(b)}" for k, b in enumerate(self._func.params)]
        m = self._memory
        if m.shared or m.per_thread:
            each = f" and {m.per_thread} for each thread" if m.per_thread else ""
            rows.append(f" * workspace: {m.shared} bytes{each}")
        return "\n".join([*rows, " */"])

    # ---- nests -----------------------------------------------------------------------------------------------------

    def _nest(self, name: str, s: Stmt, chain: list[For]) -> tuple[str, int]:
        """Return the function of a top-level nest and its number of tasks."""
        nest = self._printer()
        stages = ", ".join(dict.fromkeys(comment(b.name) for b, _ in blocks((s,))))
        nest.emit(0, f"/* {stages} */")
        nest.emit(0, f"static void {name}(void *ctx, int64_t task, int64_t tid) {{")
        self._pointers(nest, s)
        tasks = 1
        if chain:
            tasks = self._tasks(nest, chain)
        else:
            nest.body((s,), 1)
        unused = "(void)tid;" if chain else "(void)task, (void)tid;"
        nest.emit(1, unused)
        nest.emit(0, "}")
        return "\n".join(nest.lines), tasks

    def _pointers(self, nest: NestPrinter, s: Stmt) -> None:
        written = {b.buffer for b, _ in blocks((s,))}
        used = {a.buffer for b, _ in blocks((s,)) for a in accesses(b)}
        places = {b.name: f"((Context *)ctx)->bufs[{k}]" for k, b in enumerate(self._func.params)}
        places |= {n: f"((Context *)ctx)->locals[{k}]" for k, n in enumerate(self._common())}
        m = self._memory
        for name, p in m.placed.items():
            own = f" + {m.shared} + tid * {m.per_thread}" if p.kind == "thread" else ""
            if p.kind != "stack":
                places[name] = f"(void *)(((Context *)ctx)->workspace{own} + {p.offset})"
        for b in self._func.buffers:
            if b.name in used and b.name in places:
                const = "" if b.name in written else "const "
                left = f"{const}{MEMORY_TYPE[b.dtype]} *restrict {self._names('buffer', b.name)}"
                nest.emit(1, f"{left} = {places[b.name]}; /* {_described(b)} */")

    def _tasks(self, nest: NestPrinter, chain: list[For]) -> int:
        """Print one task of a parallel nest; returns the number of tasks."""
        total = math.prod(_int(lp.extent) for lp in chain)
        tasks = min(total, TASKS_PER_THREAD * max(1, self._target.threads))
        n, depth = "task", 1
        if tasks != total:
            n, depth = "n", 2
            nest.emit(1, f"for (int64_t n = task * {total} / {tasks}; n < (task + 1) * {total} / {tasks}; ++n) {{")
        inner = 1
        for lp in reversed(chain):
            v, size = self._names("loop", lp.name), _int(lp.extent)
            part = n if inner == 1 else f"{n} / {inner}"
            part = part if lp is chain[0] else f"{part} % {size}"
            nest.emit(depth, f"const int64_t {v} = {part}; /* {comment(lp.name)} in {size} (parallel) */")
            inner *= size
        for lp in chain:
            nest.variables(lp.name, depth)
        nest.body(chain[-1].body, depth)
        if depth == 2:
            nest.emit(1, "}")
        return tasks


def _described(b: Buffer) -> str:
    return f"{comment(b.name)}[{', '.join(str(d) for d in b.shape)}] {b.dtype}"


def _parallel_chain(s: Stmt) -> list[For]:
    """Adjacent parallel loops from the top of a nest, outermost first."""
    chain: list[For] = []
    while isinstance(s, For) and s.kind == "parallel":
        chain.append(s)
        if len(s.body) != 1:
            break
        s = s.body[0]
    return chain


def _int(d: object) -> int:
    assert isinstance(d, int)
    return d

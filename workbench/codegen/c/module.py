"""A whole function as one C99 file.

Every top-level nest is a function of its own whose parameters are the buffers that it uses. The entry calls them in
order; a parallel nest is run through the runtime's launch function, or task by task where no runtime is given, so that
the file is complete in itself: ``kernel(bufs, workspace, NULL)``.
"""

from __future__ import annotations

from collections.abc import Sequence

from workbench.codegen.c.expressions import ExprPrinter
from workbench.codegen.c.identifiers import Names
from workbench.codegen.c.loops import NestPrinter, comment
from workbench.codegen.c.support_functions import MEMORY_TYPE, Helpers
from workbench.codegen.lowering import cut, lowered
from workbench.codegen.temporary_storage import place
from workbench.ir import Buffer, For, Func, Stmt, accesses, blocks, loops
from workbench.ir.poly import concrete
from workbench.ir.stmt import parallel_chain
from workbench.target import Target

_HEAD = """#include <math.h>
#include <stdint.h>
#include <string.h>

/* Hints that a compiler may ignore. */
#define PRAGMA(text) _Pragma(#text)
%s
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-unswitch-loops") /* GCC 12 loses rows of a padded copy otherwise */
#endif
#if defined(__GNUC__)
#define ALIGNED __attribute__((aligned(64)))
#else
#define ALIGNED
#endif"""

#: How compilers are told that the iterations of a loop are independent, and to unroll one.
HINTS = """#if defined(__clang__)
#define VECTOR_LOOP PRAGMA(clang loop vectorize(assume_safety))
#define UNROLL(n) PRAGMA(clang loop unroll_count(n))
#elif defined(__GNUC__)
#define VECTOR_LOOP PRAGMA(GCC ivdep)
#define UNROLL(n) PRAGMA(GCC unroll n)
#else
#define VECTOR_LOOP
#define UNROLL(n)
#endif"""

#: GCC 12 makes vectors of loads under a condition, and forgets the condition of lanes that it finds to be constant.
_NO_MASKS = """#if defined(__GNUC__) && !defined(__clang__)
/* A load under a condition must not become part of a vector that reaches beyond the buffer. */
#pragma GCC optimize("no-tree-loop-if-convert")
#endif"""

_RUNTIME = """/* Runs one task of a parallel nest; `tid` is the thread's number. */
typedef void (*Region)(void *context, int64_t task, int64_t tid);

typedef struct {
    void **bufs;
    char *workspace;
    void **locals;
} Context;

/* What the caller lends: threads, and a function that runs all tasks of a nest on them. */
typedef struct {
    int64_t threads;
    void *pool;
    void (*launch)(void *pool, Region nest, void *context, int64_t tasks);
} Runtime;

static void run_tasks(const Runtime *rt, Region nest, const Context *ctx, int64_t tasks) {
    if (rt) {
        rt->launch(rt->pool, nest, (void *)ctx, tasks);
    } else {
        for (int64_t task = 0; task < tasks; ++task) nest((void *)ctx, task, 0);
    }
}"""


class Module:
    """The C text of a function.

    Parameters
    ----------
    func : Func
        Concrete, scheduled or not.
    target : Target
    symbol : str
        Name of the entry point.
    poison : bool
        Fill temporaries on the stack with NaN first.
    hints : str
        Definitions of the macros ``VECTOR_LOOP`` and ``UNROLL``.
    """

    def __init__(self, func: Func, target: Target, symbol: str, poison: bool = False, hints: str = HINTS) -> None:
        func, self._hints = lowered(func), hints
        self._func, self._target, self._symbol, self._poison = func, target, symbol, poison
        self._names, self._helpers, self._memory = Names(symbol), Helpers(), place(func)
        self._buffers = {b.name: b for b in func.buffers}
        self._careful = False
        self._extents = {lp.name: concrete(lp.extent) for lp, _ in loops(func.body)}
        # Buffers first: their names are the ones that a reader looks for.
        for b in func.buffers:
            self._names("buffer", b.name)

    def text(self) -> tuple[str, int, int]:
        """Return the text and the workspace in bytes: shared, per thread."""
        return "\n".join(self.lines()) + "\n", self._memory.shared, self._memory.per_thread

    def lines(self) -> list[str]:
        """Return the lines of the file; those of nests know their rows."""
        nests: list[list[str]] = []
        calls: list[str] = []
        for k, s in enumerate(self._func.body):
            chain = parallel_chain(s)
            printed, tasks = self._nest(f"nest{k}", s, chain)
            nests.append(printed)
            arguments = ", ".join(self._arguments(s, "", "0"))
            calls.append(f"run_tasks(rt, nest{k}_task, &ctx, {tasks});" if chain else f"nest{k}({arguments});")
            if chain:
                nests.append(self._thunk(f"nest{k}", s))
        parallel = any(parallel_chain(s) for s in self._func.body)
        entry = [f"void {self._symbol}(void **bufs, void *workspace, void *rt) {{", *self._locals(parallel)]
        entry += [f"    {call}" for call in calls]
        entry += ["    (void)bufs, (void)workspace, (void)rt;", "}"]
        runtime = [_RUNTIME] if parallel else []
        helpers = [text] if (text := self._helpers.text()) else []
        caution = [_NO_MASKS] if self._careful else []
        head = [text.split("\n") for text in (self._title(), _HEAD % self._hints, *caution, *runtime, *helpers)]
        return _apart([*head, *nests, entry])

    def _locals(self, parallel: bool) -> list[str]:
        """Declare the temporaries on the stack that several nests use, and what the tasks of nests are given."""
        printer = self._printer()
        printer.variables(None, 1)
        if not parallel:
            return printer.lines
        names = ", ".join(self._names("buffer", n) for n in self._common())
        both = [f"    void *locals[] = {{{names}}};"] if names else []
        last = "locals" if names else "NULL"
        return [*printer.lines, *both, f"    const Context ctx = {{bufs, workspace, {last}}};"]

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

    def _nest(self, name: str, s: Stmt, chain: list[For]) -> tuple[list[str], int]:
        """Return the lines of the function of a top-level nest, and its number of tasks."""
        nest = self._printer()
        stages = ", ".join(dict.fromkeys(comment(b.name) for b, _ in blocks((s,))))
        written = {b.buffer for b, _ in blocks((s,))}
        parameters = [
            f"{'' if b.name in written else 'const '}{MEMORY_TYPE[b.dtype]} *restrict {self._names('buffer', b.name)}"
            for b in self._used(s)
        ]
        parameters += ["int64_t task"] if chain else []
        nest.emit(0, f"/* {stages} */")
        nest.emit(0, f"static void {name}({', '.join(parameters)}) {{")
        tasks = self._tasks(nest, chain) if chain else 1
        if not chain:
            nest.body((s,), 1)
        nest.emit(0, "}")
        self._careful |= nest.ex.careful
        return nest.lines, tasks

    def _thunk(self, name: str, s: Stmt) -> list[str]:
        """Return the function that the runtime calls for a task."""
        arguments = ", ".join([*self._arguments(s, "ctx->", "tid"), "task"])
        return [
            f"static void {name}_task(void *context, int64_t task, int64_t tid) {{",
            "    const Context *ctx = context;",
            f"    {name}({arguments});",
            "    (void)ctx, (void)tid;",
            "}",
        ]

    def _used(self, s: Stmt) -> list[Buffer]:
        """Buffers that a nest is given, in the function's order: all but those that live inside its loops."""
        used = {a.buffer for b, _ in blocks((s,)) for a in accesses(b)}
        inside = {n for n, p in self._memory.placed.items() if p.kind == "stack" and p.loop is not None}
        return [b for b in self._func.buffers if b.name in used - inside]

    def _arguments(self, s: Stmt, ctx: str, tid: str) -> list[str]:
        """Where the buffers of a nest are, for its call from the entry or (`ctx`) from a task."""
        m = self._memory
        params = {b.name: k for k, b in enumerate(self._func.params)}
        common = {n: k for k, n in enumerate(self._common())}
        out: list[str] = []
        for b in self._used(s):
            if b.name in params:
                out.append(f"{ctx}bufs[{params[b.name]}]")
            elif b.name in common:
                out.append(f"ctx->locals[{common[b.name]}]" if ctx else self._names("buffer", b.name))
            else:
                p = m.placed[b.name]
                own = f" + {m.shared} + {tid} * {m.per_thread}" if p.kind == "thread" else ""
                base = "ctx->workspace" if ctx else "(char *)workspace"
                out.append(f"(void *)({base}{own} + {p.offset})")
        return out

    def _tasks(self, nest: NestPrinter, chain: list[For]) -> int:
        """Print one task of a parallel nest; returns the number of tasks."""
        total, tasks = cut(chain, self._target.threads)
        n, depth = "task", 1
        if tasks != total:
            n, depth = "n", 2
            with nest.notes.at(chain[-1].name):
                nest.emit(1, f"for (int64_t n = task * {total} / {tasks}; n < (task + 1) * {total} / {tasks}; ++n) {{")
        inner = 1
        for lp in reversed(chain):
            v, size = self._names("loop", lp.name), concrete(lp.extent)
            part = n if inner == 1 else f"{n} / {inner}"
            part = part if lp is chain[0] else f"{part} % {size}"
            with nest.notes.at(lp.name):
                nest.emit(depth, f"const int64_t {v} = {part}; /* {comment(lp.name)} in {size} (parallel) */")
            inner *= size
        with nest.notes.at(chain[-1].name):
            for lp in chain:
                nest.variables(lp.name, depth)
            nest.body(chain[-1].body, depth)
            if depth == 2:
                nest.emit(1, "}")
        return tasks


def _apart(parts: Sequence[list[str]]) -> list[str]:
    """Join parts of a file with an empty line between them."""
    return [line for k, part in enumerate(parts) for line in (("", *part) if k else part)]


def _described(b: Buffer) -> str:
    return f"{comment(b.name)}[{', '.join(str(d) for d in b.shape)}] {b.dtype}"

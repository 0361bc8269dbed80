"""Compiled code and measurements in a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from workbench import markup as m
from workbench.ir.text.printer import to_text
from workbench.runtime.execution.plan import CallPlan
from workbench.runtime.measuring.comparison_words import ONCE, outcomes
from workbench.schedule import upper_services
from workbench.schedule.html import interface, machine, nest_table, operations

if TYPE_CHECKING:
    from workbench.runtime.execution.benchmark import BenchmarkResult
    from workbench.runtime.execution.executable import Executable
    from workbench.runtime.execution.plan import ArraySpec
    from workbench.runtime.kernel import Kernel
    from workbench.runtime.measuring.contest import Contest
    from workbench.runtime.measuring.results import Measurement

#: Rows of a table that are shown: a screen.
CALLS = 30


def kernel_html(kernel: Kernel) -> str:
    """Return what a notebook shows of a compiled function."""
    func = kernel.func
    workspace = kernel.workspace_bytes
    more = f"{m.size(workspace)} of workspace" if workspace else ""
    head = m.heading(
        "Kernel",
        func.name,
        m.plural(kernel.threads, "thread"),
        operations(func),
        f"{m.size(kernel.code_bytes)} of code",
        more,
    )
    nest = nest_table(upper_services.nest(func, kernel.target, CALLS), CALLS)
    target = m.label("target", machine(kernel.target))
    return m.page(head, interface(func), target, nest, m.fold("The nest as text", m.code(to_text(func))))


def executable_html(executable: Executable) -> str:
    """Return what a notebook shows of a compiled network."""
    plan = executable.plan
    flops = sum(c.flops for c in plan.calls)
    weights = sum(a.nbytes for a in plan.constants)
    least = f" ({m.size(plan.least_bytes)} live at once)" if plan.least_bytes else ""
    arena = f"{m.size(plan.arena_bytes)} for intermediate results{least}"
    kernels = len({id(c.code) for c in plan.calls if isinstance(c, CallPlan)})
    head = m.heading(
        "Executable", plan.name, f"{m.plural(len(plan.calls), 'call')} of {m.plural(kernels, 'kernel')}",
        m.operations(flops), m.plural(executable.threads, "thread"),
    )  # fmt: skip
    parts: list[object] = [
        head,
        m.label("inputs", _arrays(plan.inputs)),
        m.label("outputs", _arrays(plan.outputs)),
        m.label("memory", f"{arena}, {m.size(weights)} of constants"),
        _tuned(plan.untuned),
    ]
    most = max((c.flops for c in plan.calls), default=0)
    rows = [
        [k, m.text(c.name, 70), m.operations(c.flops) if c.flops else "", m.bar(c.flops / most if most else None),
         "tuned" if c.tuned else "default" if isinstance(c, CallPlan) else "not tunable"]
        for k, c in enumerate(plan.calls[:CALLS])
    ]  # fmt: skip
    columns = (
        m.Column("#", number=True), m.Column("Kernel"), m.Column("Arithmetic", number=True), m.Column(""),
        m.Column("Schedule"),
    )  # fmt: skip
    return m.page(*parts, m.table(columns, m.cut(rows, CALLS, "calls", len(plan.calls))))


def _arrays(specs: tuple[ArraySpec, ...], limit: int = 8) -> m.Html:
    shown = [m.join(m.mono(s.name, 50), " ", m.shape(s.shape), " ", m.faint(s.dtype)) for s in specs[:limit]]
    return m.listed(shown, len(specs)) if shown else m.faint("none")


def _tuned(untuned: tuple[str, ...]) -> m.Html:
    if not untuned:
        return m.line("Every task has a tuned schedule.")
    verb = "runs with its" if len(untuned) == 1 else "run with their"
    names = m.table((m.Column(""),), m.cut([[m.text(name, 100)] for name in untuned], CALLS, "tasks"))
    return m.fold(f"{m.plural(len(untuned), 'task')} {verb} default schedule", names)


def benchmark_html(result: BenchmarkResult) -> str:
    """Return what a notebook shows of a timed network."""
    numbers: Mapping[str, float | int] = {
        f"{n}_ms": getattr(result, f"{n}_ms") for n in ("mean", "median", "max", "min", "std")
    }
    names = [k.removesuffix("_ms").replace("std", "deviation") for k in numbers]
    head = m.heading(
        "Execution time", m.milliseconds(result.median_ms), m.plural(len(result.costs_ms), "repetition"),
        m.plural(result.threads, "thread"),
    )  # fmt: skip
    table = m.table([m.Column(n, number=True) for n in names], [[m.milliseconds(v) for v in numbers.values()]])
    longest = result.max_ms
    costs = [
        [k, m.milliseconds(c), m.bar(c / longest if longest else None, 160)] for k, c in enumerate(result.costs_ms, 1)
    ]
    each = m.table(
        (m.Column("#", number=True), m.Column("Time", number=True), m.Column("")), m.cut(costs, CALLS, "repetitions")
    )
    remark = m.line(m.faint(result.remark) if result.clean else m.bad(result.remark, 300))
    return m.page(head, table, remark, m.fold("Each repetition", each))


def contest_html(contest: Contest) -> str:
    """Return what a notebook shows of a contest."""
    slowest = max((contest.latency_ms(i) for i, costs in enumerate(contest.costs_ms) if costs), default=0.0)
    rows = [
        [contest.name(i), m.milliseconds(contest.latency_ms(i)), m.bar(contest.latency_ms(i) / slowest, 160)]
        for i, found in enumerate(contest.measurements) if found.ok
    ]  # fmt: skip
    table = m.table((m.Column(""), m.Column("Time", number=True), m.Column("")), rows)
    return m.page(m.heading("Contest", "", m.plural(contest.rounds, "round")), *map(m.line, outcomes(contest)), table)


def measurement_html(found: Measurement) -> str:
    """Return what a notebook shows of a measured candidate: one line, or what went wrong."""
    if not found.ok:
        lines = found.error.strip()
        last = m.text(m.last_line(lines, "no message"), 200)
        head = m.line(m.bad(found.status.replace("_", " ")), ": ", last)
        return m.page(head, m.fold("Full text", m.code(lines, 40)) if "\n" in lines else "")
    if not found.clean:
        time = f"at least {m.milliseconds(found.at_least_ms)}"
        return m.page(m.heading("Measured", time, f"{m.milliseconds(found.ms)} seen", found.why_not))
    facts = [ONCE]
    if found.spread is not None:
        facts = [f"least {m.milliseconds(found.min_ms)}", f"spread {m.percent(found.spread)}"]
        facts.append(m.plural(found.repeats, "repetition"))
    if found.flops:
        facts.append(f"{m.digits(found.gflops)} GFLOP/s")
    return m.page(m.heading("Measured", m.milliseconds(found.ms), *facts))

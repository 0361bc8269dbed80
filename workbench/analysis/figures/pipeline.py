"""What the engines of an accelerator do in every cycle: who computes, who loads, and who waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.analysis.figures.style import SIZE, Colours, Theme, axis, colours
from workbench.analysis.figures.subplot import Part, Trace, alone, escaped, in_middle, trace
from workbench.arguments import is_a
from workbench.codegen.vta.instructions import ENGINES
from workbench.codegen.vta.nests import program_of
from workbench.codegen.vta.simulator import Event, Run, simulate
from workbench.errors import UsageError
from workbench.markup import percent, size
from workbench.schedule import Schedule

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Instructions that are drawn, the first ones; a picture with more says nothing. Chosen by eye.
MOST = 1500
#: What is drawn in a colour of its own, in the order of the colours.
_PARTS = ("load data", "load weights", "load sums", "load micro-ops", "gemm", "alu", "store")


def pipeline(schedule: Schedule) -> Run:
    """Run a schedule on the accelerator that it is for, without data: cycles are the same for all.

    Parameters
    ----------
    schedule : Schedule
        Without open numbers, for a target of the kind "vta".

    Returns
    -------
    Run
        ``cycles``, ``ms``, ``utilisation`` of the product, ``busy(engine)``, ``bytes_read``, ``bytes_written``, and
        ``events``: instructions from a cycle to another one.

    Raises
    ------
    UsageError
        "pipeline.target" for another target.
    BuildError
        "vta.*" for what the accelerator cannot do.
    """
    target = is_a("schedule", schedule, Schedule).target
    if target is None or target.kind != "vta":
        text = "Only an accelerator has engines that wait for each other."
        raise UsageError("pipeline.target", text, (str(target),), 'Schedule(func, Target("vta"))')
    return simulate(program_of(schedule.func, target))


def pipeline_figure(source: Schedule | Run, *, theme: Theme = "auto") -> go.Figure:
    """Plot which engine of an accelerator runs what, cycle by cycle.

    Parameters
    ----------
    source : Schedule or Run
        A schedule for a target of the kind "vta", or what `pipeline` returned for one.
    theme : {"auto", "light", "dark"}

    Returns
    -------
    plotly.graph_objects.Figure
        A row of bars for each engine, a trace for each kind of instruction. The line above says how busy the product
        is, and how many bytes go to and from memory.
    """
    run = source if isinstance(source, Run) else pipeline(source)
    c = colours(theme)
    shown = run.events[:MOST]
    end = max((e.end for e in shown), default=1)
    traces = [_bars(name, [e for e in shown if _part(e) == name], k, c) for k, name in enumerate(_PARTS)]
    rows = [f"{name} {percent(run.busy(name))}" for name in ENGINES]
    part = Part(
        traces,
        axis(c, "cycle", range=[0, end]),
        axis(c, tickvals=[0, 1, 2], ticktext=rows, range=[2.5, -0.5], fixedrange=True, showgrid=False,
             tickfont={"size": SIZE, "color": c.ink}),
        [] if shown else [in_middle("no instruction ran", c)],
        title="Engines of the accelerator",
        aside=escaped(sentence(run)),
    )  # fmt: skip
    return alone(part, c, 230, left=110, barmode="overlay", bargap=0)


def sentence(run: Run) -> str:
    """Say how many cycles a program takes, how busy the product is, and how many bytes it moves."""
    cut = f"; the first {MOST} instructions of {len(run.events)}" if len(run.events) > MOST else ""
    moved = f"{size(run.bytes_read)} read, {size(run.bytes_written)} written"
    return f"{run.cycles:,} cycles, product busy {percent(run.utilisation)}, {moved}{cut}"


def _bars(name: str, events: list[Event], k: int, c: Colours) -> Trace:
    return trace(
        name, [e.end - e.start for e in events], [ENGINES.index(e.instruction.engine) for e in events],
        type="bar", orientation="h", base=[e.start for e in events], width=0.8, hoverinfo="text",
        hovertext=[_told(name, e) for e in events],
        marker={"color": c.accent if name == "gemm" else c.scale[k % len(c.scale)],
                "line": {"width": 0.5, "color": c.grid}},
    )  # fmt: skip


def _part(e: Event) -> str:
    op = e.instruction.does
    kind = type(op).__name__
    if kind != "Transfer":
        return {"LoadMicroOps": "load micro-ops", "Gemm": "gemm", "Alu": "alu"}[kind]
    held = {"inp": "data", "wgt": "weights", "acc": "sums"}[getattr(op, "memory", "acc")]
    return "store" if e.instruction.engine == "store" else f"load {held}"


def _told(name: str, e: Event) -> str:
    i = e.instruction
    waits = f"<br>waits for {', '.join(i.pops)}" if i.pops else ""
    tells = f"<br>tells {', '.join(i.pushes)}" if i.pushes else ""
    moved = f"<br>{size(e.moved)}" if e.moved else ""
    return f"{name} of {escaped(i.row.removeprefix('stmt:'))}<br>cycles {e.start:,} to {e.end:,}{moved}{waits}{tells}"

"""The stages of the schedule on show as a drawing: what each reads and writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench import markup as m
from workbench.analysis.graph_drawing.network_drawing import stage_graph
from workbench.analysis.graph_drawing.network_svg import network_svg
from workbench.analysis.graph_drawing.svg_canvas import Canvas
from workbench.ir import Func, blocks
from workbench.ir import accesses as accesses_of
from workbench.session import registry as declare
from workbench.session.registry import Row, SliceContext

declare.panel("stages", "Stages", 3, needs="program", about_task=True)

_NODES = (m.Column("Node"), m.Column("Shape or detail"), m.Column("Kind"))


@declare.slice_("stages")
def stages(context: SliceContext) -> Any:
    """Return the slice `stages`, the same one while no stage comes, goes or reads something else."""
    if context.view is None:
        return None
    func = context.view.schedule.func
    return context.cache["stages"].of((_dataflow(func),), lambda: stage_graph(func))


def _dataflow(func: Func) -> str:
    """Say which blocks there are, what each reads and writes, and of which shape that is: all that the stages show."""
    lines = [f"{b.role} {b.name} {b.dtype} {b.shape}" for b in func.buffers]
    for block, _ in blocks(func.body):
        touched = " ".join(f"{'>' if a.is_write else ''}{a.buffer}" for a in accesses_of(block))
        lines.append(f"{block.name} {block.buffer}: {touched}")
    return "\n".join(lines)


@declare.static("stages")
def _stages_html(stages: Mapping[str, Any], limit: int) -> m.Html:
    nodes: Sequence[Mapping[str, Any]] = stages["nodes"]
    rows = [[m.text(n["label"], 60), m.text(n["sub"] or "", 60), n["kind"]] for n in nodes]
    return m.table(_NODES, m.cut(rows, limit, "nodes"))


@declare.drawing("stages")
def _stages_svg(stages: Row, slices: Mapping[str, Any], to: Canvas) -> str:
    return network_svg(stages, slices, to)

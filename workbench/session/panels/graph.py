"""The model as a drawing, and what the passes made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from workbench import markup as m
from workbench.analysis.graph_drawing.network_drawing import network_key
from workbench.analysis.graph_drawing.network_svg import columns_svg
from workbench.analysis.graph_drawing.svg_canvas import Canvas
from workbench.errors import UsageError
from workbench.graph.passes.fuse import kernel_count
from workbench.session import registry as declare
from workbench.session.registry import Host, Row, SliceContext
from workbench.session.state.model_drawings import Drawings

declare.panel("graph", "Model", 1, needs="model")

MOST_NODES, MOST_PASSES = 200, 40
"""Operators of a network whose passes are recorded, and passes: the drawings of a larger one would be too large."""


@declare.slice_("graph")
def graph(context: SliceContext) -> dict[str, Any] | None:
    """Return the slice `graph`: that there is a model; None where there is none."""
    drawings = context.state.drawings
    if drawings is None:
        return None
    return context.cache["graph"].of((drawings,), lambda: _about(drawings))


def _about(drawings: Drawings) -> dict[str, Any]:
    model = drawings.graph
    return {
        "key": network_key(model, drawings.tasks), "nodes": len(model.nodes), "kernels": kernel_count(model),
        "source": drawings.origin is not None,
    }  # fmt: skip


@declare.question("graph", lane="layout")
def graph_question(host: Host, args: Mapping[str, Any]) -> Callable[[], dict[str, Any]]:
    """Draw the model, or what stood before or after one of its passes."""
    drawings = _drawings(host)
    expanded = args.get("expanded", [])
    if not isinstance(expanded, list) or not all(isinstance(id, str) for id in expanded):
        raise UsageError("session.arguments", "graph needs expanded to be a list of ids")
    at, side, level = args.get("pass"), args.get("side", "after"), args.get("level", "kernels")
    if at is None:
        return lambda: drawings.network(level, expanded)
    return lambda: drawings.side(at, side, expanded)


@declare.question("passes", lane="layout")
def passes(host: Host, args: Mapping[str, Any]) -> Callable[[], dict[str, Any]]:
    """Say what every pass did to the model."""
    return _drawings(host).passes


def _drawings(host: Host) -> Drawings:
    if host.state.drawings is None:
        raise UsageError("session.no_model", "There is no model to draw", (), "open a model: Workbench('model.onnx')")
    return host.state.drawings


@declare.static("graph")
def _graph_html(model: Mapping[str, Any], limit: int) -> m.Html:
    return m.line(f"{m.plural(model['nodes'], 'operator')} in {m.plural(model['kernels'], 'kernel')}")


@declare.drawing("graph")
def _graph_svg(columns: Row, slices: Mapping[str, Any], to: Canvas) -> str:
    return columns_svg(columns, slices, to)


@declare.recorded
def _recorded(slices: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    if (graph := slices.get("graph")) is None:
        return
    yield "graph", {"level": "kernels"}
    if graph["nodes"] <= MOST_NODES:
        yield "graph", {"level": "nodes"}
        yield "passes", {}
        sides = ((k, side) for k in range(MOST_PASSES) for side in ("before", "after"))
        yield from (("graph", {"level": "kernels", "pass": k, "side": side}) for k, side in sides)

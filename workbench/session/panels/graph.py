"""The model as a drawing, and what the passes made of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.errors import UsageError
from workbench.session.core.model_drawings import Drawings
from workbench.session.core.registry import Host, SliceContext, question, slice_


@slice_("graph")
def graph(context: SliceContext) -> dict[str, Any] | None:
    """Return the slice `graph`: that there is a model; None where there is none."""
    drawings = context.state.drawings
    if drawings is None:
        return None
    found: dict[str, Any] = context.kept.of("graph", (drawings,), lambda: _about(drawings))
    return found


def _about(drawings: Drawings) -> dict[str, Any]:
    from workbench.analysis.graph_drawing.networks import network_key

    model = drawings.graph
    return {
        "key": network_key(model, drawings.tasks), "nodes": len(model.nodes), "kernels": len(model.groups),
        "source": drawings.origin is not None,
    }  # fmt: skip


@question("graph", lane="layout")
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


@question("passes", lane="layout")
def passes(host: Host, args: Mapping[str, Any]) -> Callable[[], dict[str, Any]]:
    """Say what every pass did to the model."""
    return _drawings(host).passes


def _drawings(host: Host) -> Drawings:
    if host.state.drawings is None:
        raise UsageError("session.no_model", "There is no model to draw", (), "open a model: Workbench('model.onnx')")
    return host.state.drawings

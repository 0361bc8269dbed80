"""List the graph passes, or what they do to a model."""

from __future__ import annotations

from argparse import Namespace

from workbench.cli import arguments as shared
from workbench.cli.arguments import Parser
from workbench.cli.interrupt import load_heavy_modules
from workbench.cli.model import parse_shapes, passes_left_out
from workbench.cli.output import Output, columns


def arguments(command: Parser) -> None:
    """Declare the arguments."""
    command.add_argument("model", metavar="MODEL", nargs="?", help="say what each pass does to this model")
    shared.shape(command)
    shared.without(command)


def passes(options: Namespace, output: Output) -> int:
    """List the passes in the order in which they run; with a model, say what each of them does to it."""
    parse_shapes(options.shape)
    load_heavy_modules()
    without = passes_left_out(options)
    from workbench.graph import explain, list_passes, load_onnx

    if options.model is not None:
        graph = load_onnx(options.model, parse_shapes(options.shape) or None)
        report = explain(graph, without=without, precision=options.precision)
        output.result({"model": str(options.model), **report.to_json()}, str(report))
        return 0
    listed = list_passes()
    rows = [[p.name, "yes" if p.default else "no", ", ".join(p.requires) or "-", p.doc] for p in listed]
    text = columns(["Pass", "Default", "Requires", "What it does"], rows)
    output.result({"passes": [p.to_json() for p in listed]}, text)
    return 0

"""List the tasks that a model consists of."""

from __future__ import annotations

from argparse import Namespace

from workbench.cli import arguments as shared
from workbench.cli.arguments import Parser
from workbench.cli.interrupt import load_heavy_modules
from workbench.cli.model import check_model_options, load_graph, make_target
from workbench.cli.output import Output, columns


def arguments(command: Parser) -> None:
    """Declare the arguments."""
    shared.model(command)
    shared.target(command)


def tasks(options: Namespace, output: Output) -> int:
    """``workbench tasks MODEL``: the tasks with their weights."""
    check_model_options(options)
    load_heavy_modules()
    target = make_target(options)
    graph = load_graph(options, output, target)
    from workbench.graph import extract_tasks, partition

    extracted = extract_tasks(graph, target)
    others = [(g, g.untunable) for g in partition(graph) if g.untunable]
    rows = [
        [str(i), t.name, str(t.weight), f"{t.flops / 1e6:.2f}", f"{t.weight * t.flops / 1e9:.3f}", t.key[:12]]
        for i, t in enumerate(extracted)
    ]
    total = sum(t.weight * t.flops for t in extracted)
    kernels = sum(t.weight for t in extracted)
    text = columns(["ID", "Task", "Weight", "MFLOP", "GFLOP in all", "Key"], rows, {0, 2, 3, 4})
    counted = f"{len(extracted)} task{'s' * (len(extracted) != 1)} for {kernels} kernel{'s' * (kernels != 1)}"
    summary = f"{counted}, {total / 1e9:.2f} GFLOP; target: {target}"
    if others:
        lines = [f"  {g.name}: {g.description}, {why}" for g, why in others]
        summary += f"\n\nNot tunable ({len(others)}):\n" + "\n".join(lines)
    data = {
        "model": str(options.model),
        "target": str(target),
        "total_flops": total,
        "not_tunable": [{"name": g.name, "operator": g.nodes[0].op, "reason": why} for g, why in others],
        "tasks": [
            {"id": i, "key": t.key, "name": t.name, "description": t.description, "weight": t.weight, "flops": t.flops}
            for i, t in enumerate(extracted)
        ],
    }
    output.result(data, f"{text}\n\n{summary}")
    return 0

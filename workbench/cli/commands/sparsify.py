"""Make weights of products zeros in blocks, where kernels that leave these out are faster."""

from __future__ import annotations

from argparse import Namespace

from workbench.cli import arguments as shared
from workbench.cli.arguments import Parser
from workbench.cli.commands.run import check_folder
from workbench.cli.interrupt import load_heavy_modules
from workbench.cli.model import check_model_options, make_target, parse_shapes, read_model
from workbench.cli.output import Output


def arguments(command: Parser) -> None:
    """Declare the arguments."""
    command.add_argument("model", metavar="MODEL", help="an ONNX file, or the name of one in the onnx package")
    shared.shape(command)
    command.add_argument(
        "--fill-weights", type=int, metavar="SEED", help="replace constant stub weights by seeded, calibrated ones"
    )
    shared.target(command)
    command.add_argument(
        "-o", "--output", metavar="OUT.onnx", required=True, help="write the model with its zeros here"
    )
    command.add_argument(
        "--sparsity", type=float, metavar="S", default=0.9, help="share of the weights that become zeros (default 0.9)"
    )
    command.add_argument(
        "--block",
        type=int,
        nargs=2,
        metavar=("C", "R"),
        default=[16, 1],
        help="columns and rows of the weights in a block (default 16 1)",
    )
    command.add_argument("--exclude", action="append", default=[], metavar="NAME", help="leave a node; repeatable")


def sparsify(options: Namespace, output: Output) -> int:
    """Write the model, and say of each product what was measured."""
    options.save_filled = None
    check_model_options(options)
    load_heavy_modules()
    check_folder(options.output)
    from workbench.graph.onnx.writer import save_onnx
    from workbench.network import sparsify as module

    target = make_target(options)
    graph = read_model(options, output, target, parse_shapes(options.shape) or None)
    done = module.sparsify(graph, options.sparsity, options.block, exclude=options.exclude, target=target)
    save_onnx(done, options.output)
    lines = done.history[len(graph.history) :]
    output.result({"model": str(options.model), "output": str(options.output), "nodes": list(lines)}, "\n".join(lines))
    return 0

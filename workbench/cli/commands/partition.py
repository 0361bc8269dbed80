"""Time the parts of a model here and in other runtimes, and say which should compute which."""

from __future__ import annotations

from argparse import Namespace

from workbench.cli import arguments as shared
from workbench.cli.arguments import Parser, positive
from workbench.cli.interrupt import load_heavy_modules
from workbench.cli.model import check_model_options, make_target, parse_shapes, read_model
from workbench.cli.output import Output, columns


def arguments(command: Parser) -> None:
    """Declare the arguments."""
    command.add_argument("model", metavar="MODEL", help="an ONNX file, or the name of one in the onnx package")
    shared.shape(command)
    command.add_argument(
        "--fill-weights", type=int, metavar="SEED", help="replace constant stub weights by seeded, calibrated ones"
    )
    shared.target(command)
    command.add_argument("--log", metavar="LOG", help="schedules of our kernels from this log")
    command.add_argument(
        "--backend",
        action="append",
        default=[],
        metavar="NAME",
        help="another runtime; repeatable (default onnxruntime)",
    )
    command.add_argument("--parts", type=positive, default=8, metavar="N", help="pieces of the network (default 8)")


def partition(options: Namespace, output: Output) -> int:
    """Print what was measured of each piece, and of the whole."""
    options.save_filled = None
    check_model_options(options)
    load_heavy_modules()
    from workbench.network.partition import partition as module

    target = make_target(options)
    graph = read_model(options, output, target, parse_shapes(options.shape) or None)
    backends = options.backend or ["onnxruntime"]
    found = module.partition(graph, backends, options.log, target=target, parts=options.parts)
    table = found.explain()
    rows = [[v if isinstance(v, str) else f"{v:.3g}" for v in row] for row in table.itertuples(index=False)]
    data = {"model": str(options.model), "times": dict(found.times), "pieces": table.to_dict("records")}
    output.result(data, f"{columns(list(table.columns), rows, set())}\n\n{found!r}")
    return 0

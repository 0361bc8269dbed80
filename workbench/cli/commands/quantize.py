"""Quantise a model to 8 bits with samples of its inputs."""

from __future__ import annotations

from argparse import Namespace

from workbench.cli import arguments as shared
from workbench.cli.arguments import Parser
from workbench.cli.commands.run import check_folder, read_npz
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
    command.add_argument(
        "--samples", metavar="FILE.npz", required=True, help="inputs by their ONNX names, samples along the first axis"
    )
    command.add_argument("-o", "--output", metavar="OUT.onnx", required=True, help="write the quantised model here")
    command.add_argument(
        "--calibration", metavar="HOW", default="minmax", help="minmax, percentile or entropy (default minmax)"
    )
    command.add_argument(
        "--percentile", type=float, metavar="P", default=99.99, help="percent of the numbers that fit (default 99.99)"
    )
    command.add_argument("--activations", metavar="TYPE", default="uint8", help="uint8 or int8 (default uint8)")
    command.add_argument(
        "--exclude", action="append", default=[], metavar="NAME", help="leave a node or operator in float32; repeatable"
    )


def quantize(options: Namespace, output: Output) -> int:
    """Write the quantised model, and say how far its results are from those in float32, for the samples."""
    options.save_filled = None
    check_model_options(options)
    load_heavy_modules()
    check_folder(options.output)
    samples = read_npz(options.samples)
    from workbench.graph.onnx.writer import save_onnx
    from workbench.network import quantization
    from workbench.network.accuracy import accuracy

    target = make_target(options)
    graph = read_model(options, output, target, parse_shapes(options.shape) or None)
    how = {"calibration": options.calibration, "percentile": options.percentile, "activations": options.activations}
    done = quantization.quantize(graph, samples, **how, exclude=options.exclude, target=target)
    save_onnx(done, options.output)
    plan = quantization.plan(graph, options.exclude)
    table = accuracy(graph, done, samples, target=target)
    results = table[table["output"]].itertuples()
    rows = [[str(r.tensor), f"{r.relative:.3g}", f"{r.max_error:.3g}", f"{r.sqnr_db:.1f}"] for r in results]
    text = columns(["Output", "Relative error", "Largest error", "dB"], rows, {1, 2, 3})
    above = table.attrs["first_above"]
    more = f"\nThe first tensor with a relative error above {table.attrs['bound']:g} is {above}." if above else ""
    data = {
        "model": str(options.model),
        "output": str(options.output),
        "nodes": plan.to_dict("records"),
        "errors": table.to_dict("records"),
        "first_above": above,
    }
    output.result(data, f"{done.history[-1]}\n\n{text}{more}")
    return 0

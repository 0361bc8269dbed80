"""Networks in parts (`wb.partition`) against each runtime alone.

Run it by hand (it is not part of the default tests)::

    pip install onnxruntime && python tests/benchmarks/bench_partition.py squeezenet_v1.1:224 mobilenet:160
    python tests/benchmarks/bench_partition.py --spectra models/speechmos/speechmos/dnsmos_models/sig.onnx

Networks of the zoo with the side of an image, or model files. ``--spectra`` puts in front of DNSMOS's networks what
makes their inputs from sound: an STFT of 320 samples, every 160, and the logarithm of its power. Prints what was taken,
the pieces, and a second measurement of all three in turns.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, version_converter

import workbench as wb
from workbench import zoo
from workbench.network import backends
from workbench.network.turns import in_turns


def of_sound(path: str) -> onnx.ModelProto:
    """A network of log-power spectra with what computes them in front."""
    model = version_converter.convert_version(onnx.load(path), 17)
    graph, features = model.graph, model.graph.input[0].name
    hann = np.float32(0.5) - np.float32(0.5) * np.cos(2 * np.pi * np.arange(320) / 320).astype(np.float32)
    constants = {"step": np.array(160), "window": hann, "length": np.array(320), "last": np.array([-1]),
                 "least": np.array(1e-12, np.float32)}  # fmt: skip
    made = [
        helper.make_node("STFT", ["sound", "step", "window", "length"], ["spectrum"], onesided=1),
        helper.make_node("Mul", ["spectrum", "spectrum"], ["squares"]),
        helper.make_node("ReduceSum", ["squares", "last"], ["power"], keepdims=0),
        helper.make_node("Max", ["power", "least"], ["clipped"]),
        helper.make_node("Log", ["clipped"], [features]),
    ]
    rest = list(graph.node)
    del graph.node[:], graph.input[:], graph.value_info[:]
    graph.node.extend([*made, *rest])
    graph.input.append(helper.make_tensor_value_info("sound", TensorProto.FLOAT, [1, 320 + 160 * 900, 1]))
    graph.initializer.extend(numpy_helper.from_array(a, name) for name, a in constants.items())
    for output in graph.output:
        output.type.tensor_type.shape.dim[0].dim_value = 1
    return model


def load(text: str, spectra: bool) -> wb.Graph:
    """The network that a word of the command line names."""
    if spectra:
        return wb.load_onnx(of_sound(text))
    name, _, size = text.partition(":")
    return wb.load_onnx(text) if text.endswith(".onnx") else zoo.get_network(name, size=int(size) if size else None)


def measure(graph: wb.Graph, options: argparse.Namespace) -> None:
    """Print what was taken of a network, and all again."""
    threads = options.threads
    parts = wb.partition(graph, log=options.log, threads=threads, parts=options.parts, seconds=options.seconds)
    print(parts, parts.explain().to_string(), sep="\n", flush=True)
    exe = wb.compile(graph, options.log, threads=threads)
    given = dict(zip(exe.empty_inputs(), exe.draw_inputs(), strict=True))
    other = backends.BACKENDS.find("onnxruntime")(graph, threads, True)
    runs = {"workbench": exe.bind(given), "onnxruntime": partial(other, *given.values())}
    if len(set(parts.way)) > 1:
        runs["parts"] = parts.executable.bind(given)
    print("again:", {name: round(ms, 3) for name, ms in in_turns(runs, options.seconds).items()}, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="+")
    parser.add_argument("--spectra", action="store_true", help="put the spectra in front")
    parser.add_argument("--log", help="schedules")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--parts", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    for name in options.networks:
        measure(load(name, options.spectra), options)


if __name__ == "__main__":
    main()

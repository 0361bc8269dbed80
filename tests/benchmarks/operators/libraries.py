"""The libraries: each makes a model ready to run on given inputs, in place, and says how.

What a library prepares is as good as its user can have it: inputs lie at multiples of 64 bytes and are read where they
are, outputs are written to memory that is there already, where the library takes them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]


@dataclass
class Ready:
    """A model that can be run.

    Attributes
    ----------
    run : callable
        Runs it once.
    results : callable
        The outputs of the last run, by name.
    facts : dict
        What else there is to tell.
    holds : object
        What must not go while it runs: memory that a library only has the address of.
    """

    run: Callable[[], Any]
    results: Callable[[], Arrays]
    facts: dict[str, Any] = field(default_factory=dict)
    holds: object = None


def ours(model: Path, feeds: Arrays, threads: int, log: str) -> Ready:
    """This project, with the best schedules of a log (none: default schedules)."""
    from workbench.errors import ModelError
    from workbench.graph.onnx import load_onnx
    from workbench.network.compile import compile as compile_graph
    from workbench.runtime.networks.execution_plan import HostCall
    from workbench.target import Target

    target = Target.host(threads=threads)
    try:
        exe = compile_graph(load_onnx(str(model)), log or None, target, threads=threads)
    except ModelError as e:
        return _staged(model, feeds, log, target, str(e).splitlines()[0])
    hosted = [c.operator for c in exe.plan.calls if isinstance(c, HostCall)]
    facts = {"host": hosted, "untuned": len(exe.untuned), "calls": len(exe.plan.calls)}
    bound = exe.bind(feeds)
    return Ready(bound, bound, facts)


def _staged(model: Path, feeds: Arrays, log: str, target: Any, why: str) -> Ready:
    """A model whose shapes depend on data: stage by stage."""
    import onnx

    from workbench.graph.onnx import read_program
    from workbench.network.dynamic_shapes import DynamicExecutable

    exe = DynamicExecutable(read_program(onnx.load(model)), log or None, target)
    last: Arrays = {}
    exe.run(feeds)
    bound = exe.bind(feeds)
    return Ready(lambda: last.update(bound()), lambda: last, {"host": list(exe.reference_steps), "stages": why})


def onnxruntime(model: Path, feeds: Arrays, threads: int, log: str) -> Ready:
    """The vendor-neutral runtime, with bound inputs and outputs.

    It is timed as it comes. Its answer is that of a session whose products of bytes are exact: as it comes, sums of
    two of them saturate on a processor that has AVX2 and no VNNI.
    """
    import onnxruntime as ort

    options, exact = ort.SessionOptions(), ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    exact.add_session_config_entry("session.x64quantprecision", "1")
    session = ort.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    by_exact = ort.InferenceSession(str(model), exact, providers=["CPUExecutionProvider"])
    first = dict(zip(names, by_exact.run(None, feeds), strict=True))
    binding = session.io_binding()
    values = {n: ort.OrtValue.ortvalue_from_numpy(a) for n, a in feeds.items()}
    for name, value in values.items():
        binding.bind_ortvalue_input(name, value)
    for name, array in first.items():
        values[name] = ort.OrtValue.ortvalue_from_numpy(array.copy())  # it writes into the array
        binding.bind_ortvalue_output(name, values[name])
    return Ready(lambda: session.run_with_iobinding(binding), lambda: first)


def openvino(model: Path, feeds: Arrays, threads: int, log: str) -> Ready:
    """Held to single precision: left alone it computes in bfloat16 where the processor can."""
    import openvino as ov

    hints = {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
    compiled = ov.Core().compile_model(str(model), "CPU", hints)
    request = compiled.create_infer_request()
    for node in compiled.inputs:
        request.set_tensor(node, ov.Tensor(feeds[node.get_any_name()], shared_memory=True))

    def results() -> Arrays:
        return {node.get_any_name(): np.array(request.get_tensor(node).data) for node in compiled.outputs}

    def run() -> None:
        request.start_async()  # `infer` would wrap the results, which takes twice as long as a small model
        request.wait()

    return Ready(run, results, holds=feeds)


def torch(model: Path, feeds: Arrays, threads: int, log: str) -> Ready:
    """Eager functions, one after the other."""
    import torch as t

    from operators.torch_nodes import program

    t.set_num_threads(threads)
    t.set_grad_enabled(False)
    run = program(model, {n: t.from_numpy(a) for n, a in feeds.items()})
    last: dict[str, Any] = {}
    return Ready(lambda: last.update(run()), lambda: {n: v.numpy() for n, v in last.items()})


LIBRARIES = {"ours": ours, "tuned": ours, "onnxruntime": onnxruntime, "openvino": openvino, "torch": torch}
MODULES = {"ours": "workbench", "tuned": "workbench"}
"""What has to be there for a library, where it is not named like it."""

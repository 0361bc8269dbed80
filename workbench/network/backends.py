"""Other runtimes that parts of a network can be given to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, TypeAlias

from workbench.errors import UsageError
from workbench.graph import Graph
from workbench.graph.graph import Array
from workbench.graph.onnx.writer import to_onnx
from workbench.registry import Registry

#: Arrays of the inputs, in order -> those of the outputs.
Function: TypeAlias = Callable[..., Sequence[Array]]
#: A graph, how many threads, and whether it runs by itself -> a function that computes it.
Load: TypeAlias = Callable[[Graph, int, bool], Function]

BACKENDS: Registry[Load] = Registry("backend", "backends", "usage.backend")


def partition_backend(name: str) -> Callable[[Load], Load]:
    """Declare what loads a graph into another runtime: ``load(graph, threads, alone)`` returns a function of arrays.

    It raises `UsageError` where the runtime is missing, and anything where it does not take the graph. `alone` says
    that the runtime has the processor's cores to itself: beside our kernels, its threads must not spin between runs.
    """

    def wrap(load: Load) -> Load:
        BACKENDS[name] = load
        return load

    return wrap


@partition_backend("onnxruntime")
def onnxruntime(graph: Graph, threads: int, alone: bool) -> Function:
    """Sessions of ONNX Runtime on the CPU."""
    try:
        ort: Any = import_module("onnxruntime")
    except ImportError:
        text = "The package onnxruntime is not installed"
        raise UsageError("usage.backend_missing", text, ["onnxruntime"], "pip install onnxruntime") from None
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    if not alone:
        options.add_session_config_entry("session.force_spinning_stop", "1")
    session = ort.InferenceSession(to_onnx(graph).SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = graph.inputs

    def run(*arrays: Array) -> Sequence[Array]:
        found: Sequence[Array] = session.run(None, dict(zip(names, arrays, strict=True)))
        return found

    return run

"""onnxruntime, as the tests compare with it."""

from __future__ import annotations

from os import PathLike
from typing import Any

import onnx


def exact_options() -> Any:
    """Options with which products of bytes are exact.

    Without them, sums of two products of an unsigned with a signed byte saturate in 16 bits on a processor that has
    AVX2 and no VNNI.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.x64quantprecision", "1")
    return options


def session(model: onnx.ModelProto | bytes | str | PathLike[str], threads: int = 0, exact: bool = True) -> Any:
    """Session on the CPU; as many threads as it takes by itself for 0.

    Not `exact`: for signed bytes times signed ones, and for results that are no bytes, where it has no such kernels.
    """
    import onnxruntime

    options = exact_options() if exact else onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    source = model.SerializeToString() if isinstance(model, onnx.ModelProto) else model
    return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])

"""onnxruntime, quietly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import onnxruntime
from ort_session import exact_options

from random_models.values import Value


class Refused(Exception):
    """onnxruntime takes no such model, or cannot run it."""


def session(model: onnx.ModelProto, optimise: bool = False) -> Any:
    """Session on one thread, with all of onnxruntime's own rewriting or none."""
    options = exact_options()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    levels = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimise else levels.ORT_DISABLE_ALL
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as e:
        raise Refused(str(e)) from None


def run(session: Any, feeds: Mapping[str, Value]) -> list[Value]:
    """All outputs."""
    try:
        found = session.run(None, dict(feeds))
    except Exception as e:
        raise Refused(str(e)) from None
    if any(v is None for v in found):
        raise Refused("an absent value")
    return [[np.asarray(x) for x in v] if isinstance(v, list) else np.asarray(v) for v in found]

"""The workbench as a backend of the onnx package, so that ONNX's own conformance suite runs against it.

>>> from workbench import onnx_backend
>>> outputs = onnx_backend.run_model(model, [x])  # doctest: +SKIP

What is not supported raises `unittest.SkipTest`, so that no test counts as passed whose results were not compared.
"""

from __future__ import annotations

import unittest
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep, Device, DeviceType

from workbench.errors import ModelError
from workbench.graph.onnx import load_onnx
from workbench.network.compile import compile
from workbench.network.staged_executable import AnyShapeExecutable
from workbench.runtime.execution.executable import Executable

#: Codes that say that a model is right but beyond this project.
UNSUPPORTED = ("model.unsupported_op", "model.unsupported_attr", "model.unsupported_dtype", "model.reference_failed")


class WorkbenchRep(BackendRep):
    """A model that is ready to run; compiled for the shapes of the inputs when these arrive."""

    def __init__(self, executable: Executable) -> None:
        assert isinstance(executable, AnyShapeExecutable)
        self.executable = executable

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Outputs for the inputs, which come in the model's order (or as a mapping, or a single array)."""
        names = [v.name for v in self.executable.rest.program.inputs]
        if isinstance(inputs, dict):
            feeds = inputs
        else:
            given = inputs if isinstance(inputs, Sequence) else [inputs]
            feeds = dict(zip(names, given, strict=False))
        arrays = {n: np.asarray(x) if isinstance(x, np.generic) else x for n, x in feeds.items()}
        try:
            return tuple(self.executable.run(arrays).values())
        except ModelError as e:
            raise _skipped(e) from e


class WorkbenchBackend(Backend):
    """The backend."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> WorkbenchRep:
        """Read a model."""
        if not cls.supports_device(device):
            raise unittest.SkipTest(f"the device {device} is not supported")
        try:
            return WorkbenchRep(compile(load_onnx(model, dynamic=True)))
        except ModelError as e:
            raise _skipped(e) from e

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """Read a model and run it once."""
        return cls.prepare(model, device).run(inputs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Only the CPU."""
        return bool(Device(device).type == DeviceType.CPU)


def _skipped(e: ModelError) -> Exception:
    return unittest.SkipTest(str(e)) if e.code in UNSUPPORTED else e


prepare = WorkbenchBackend.prepare
run_model = WorkbenchBackend.run_model
supports_device = WorkbenchBackend.supports_device

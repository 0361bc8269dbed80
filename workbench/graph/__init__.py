"""Networks: import, passes, fusion and tasks."""

from .graph import Graph, Node, TensorType
from .onnx import load_onnx
from .reference import run_reference

__all__ = ["Graph", "Node", "TensorType", "load_onnx", "run_reference"]

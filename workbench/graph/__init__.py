"""Networks: import, passes, fusion and tasks."""

from .graph import Graph, Node, TensorType
from .group import Group
from .onnx import load_onnx
from .passes import explain, list_passes
from .reference import run_reference
from .tasks import Task, extract_tasks, partition

__all__ = [
    "Graph",
    "Group",
    "Node",
    "Task",
    "TensorType",
    "explain",
    "extract_tasks",
    "list_passes",
    "load_onnx",
    "partition",
    "run_reference",
]

"""Networks: import, passes, fusion and tasks."""

import workbench.graph.bounded_sizes
import workbench.graph.html
import workbench.graph.onnx.reference_operators
import workbench.graph.ops  # noqa: F401 (they register what they declare)
from workbench.graph.graph import Graph, Node, TensorType
from workbench.graph.group import Group
from workbench.graph.onnx import load_onnx
from workbench.graph.passes import explain, list_passes
from workbench.graph.reference import run_reference
from workbench.graph.tasks import Task, extract_tasks, partition

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

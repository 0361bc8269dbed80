"""Computations as TVM prints them (``C(i, j) += (A[i, k]*B[k, j])``), read and turned into tensor expressions.

`grammar` reads the text, `extents` works out what it leaves unsaid, `tensors` builds the stages. Nothing is evaluated
but what the grammar knows.
"""

from workbench.logs.replays.compute_dag.grammar import Compute, Dag, DagError, Placeholder, parse_dag, parse_dags
from workbench.logs.replays.compute_dag.tensors import Computation, computation

__all__ = ["Computation", "Compute", "Dag", "DagError", "Placeholder", "computation", "parse_dag", "parse_dags"]

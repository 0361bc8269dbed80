"""Graph passes in the order in which they run by default."""

from . import canonical, fold, fuse, layout, scale, views
from .base import Pass, graph_pass, passes, run_pass

#: What `Graph.optimize` runs.
DEFAULT = (
    "fold_constants",
    "drop_identities",
    "canonicalize",
    "fold_batch_norm",
    "layout_nhwc",
    "simplify_views",
    "fold_constants",
    "fuse",
)

__all__ = [
    "DEFAULT",
    "Pass",
    "canonical",
    "fold",
    "fuse",
    "graph_pass",
    "layout",
    "passes",
    "run_pass",
    "scale",
    "views",
]

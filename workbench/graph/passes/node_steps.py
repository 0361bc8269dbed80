"""Writing several nodes in the place of one that is compiled."""

from __future__ import annotations

from workbench.graph.evaluation import obstacle
from workbench.graph.node_steps import Steps as AnySteps


class Steps(AnySteps):
    """Nodes that take the place of one; the last gets its name for the result."""

    def compiled(self) -> bool:
        """Whether the node as it stands becomes a loop nest: others are left to what computes them now."""
        return not obstacle(self.call, [self.graph.types[o] for o in self.node.outputs if o])

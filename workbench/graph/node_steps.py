"""Writing several nodes in the place of one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from workbench.graph.graph import Array, AttrValue, Graph, Node
from workbench.graph.graph_editor import GraphEditor
from workbench.graph.operator_call import Call

#: Domain of the operators that only our own passes write.
OWN = "workbench"


@dataclass(slots=True)
class Steps:
    """Nodes that take the place of one; the last gets its name for the result."""

    graph: Graph
    editor: GraphEditor
    node: Node
    nodes: list[Node] = field(default_factory=list)
    base: str = field(init=False)

    def __post_init__(self) -> None:
        self.base = next(o for o in self.node.outputs if o)

    @property
    def call(self) -> Call:
        """The node's call."""
        return Call.of(self.node, self.graph.types, self.graph.constants)

    def name(self, i: int) -> str:
        """Name of an input; "" where it is not given."""
        return self.node.inputs[i] if i < len(self.node.inputs) else ""

    def value(self, x: str) -> Array | None:
        """Value of a tensor that is constant."""
        return self.editor.constants.get(x)

    def constant(self, what: str, value: Array) -> str:
        """Add a constant."""
        return self.editor.constant(f"{self.base}.{what}", value)

    def add(
        self,
        op: str,
        inputs: tuple[str, ...],
        what: str,
        attrs: dict[str, AttrValue] | None = None,
        own: bool = False,
        version: int = 18,
    ) -> str:
        """Add a node; returns the name of its result."""
        made = replace(self.editor.make(op, inputs, f"{self.base}.{what}", attrs), version=version)
        self.nodes.append(replace(made, domain=OWN) if own else made)
        return made.outputs[0]

    def reshape(self, x: str, shape: tuple[int, ...], what: str = "view") -> str:
        """The tensor in another shape."""
        made = self.editor.reshape(x, shape, f"{self.base}.{what}")
        self.nodes.append(made)
        return made.outputs[0]

    def transpose(self, x: str, perm: tuple[int, ...], what: str = "turned") -> str:
        """The tensor with its axes in another order; itself where that is the order that they have."""
        return x if list(perm) == sorted(perm) else self.add("Transpose", (x,), what, {"perm": perm})

    def finish(self, output: str = "") -> bool:
        """Give the result of the last step the name of the node's."""
        self.nodes[-1] = replace(self.nodes[-1], outputs=(output or self.base,))
        return True

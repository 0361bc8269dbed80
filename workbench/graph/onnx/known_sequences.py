"""Sequences whose members are known when a model is read: their operators become operators of tensors.

What is not known then (the pieces of a tensor whose length nobody says, a place that is computed, a sequence that is
an input or an output) stays as it is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from workbench.graph.graph import Array, Node, needed_nodes
from workbench.graph.model import Dim, Program

_OPERATORS = (
    *("SequenceConstruct", "SequenceEmpty", "SequenceInsert", "SequenceErase", "SequenceAt", "SequenceLength"),
    *("SplitToSequence", "ConcatFromSequence"),
)


def without_sequences(program: Program) -> Program:
    """The program without those sequences whose members are known."""
    if not any(n.op in _OPERATORS and not n.domain for n in program.nodes):
        return program
    known = _Known(program)
    nodes = [new for n in program.nodes for new in known.written(n)]
    return replace(program, nodes=tuple(needed_nodes(nodes, program.outputs)), constants=known.constants)


class _Known:
    """What is known of a program's sequences: the names of their members."""

    def __init__(self, program: Program) -> None:
        self.constants = dict(program.constants)
        self._shapes = {v.name: v.dims for v in program.inputs}
        self._values = dict(program.constants)
        self._members: dict[str, tuple[str, ...]] = {}

    def written(self, node: Node) -> list[Node]:
        """What stands in the place of a node, or beside it: other nodes may read its sequence."""
        if node.op == "Constant" and isinstance(value := node.attrs.get("value"), np.ndarray):
            self._values[node.outputs[0]] = value
        if node.op not in _OPERATORS or node.domain:
            return [node]
        out = node.outputs[0]
        if node.op == "SplitToSequence":
            return [node, *self._split(node, out)]
        found = self._of(node)
        if node.op in ("SequenceConstruct", "SequenceEmpty", "SequenceInsert", "SequenceErase"):
            self._members |= {} if found is None else {out: found}
            return [node]
        if found is None:
            return [node]
        if node.op == "SequenceLength":
            self.constants[out] = np.array(len(found), np.int64)
            return []
        if node.op == "SequenceAt":
            return [replace(node, op="Identity", inputs=found)]
        return self._joined(node, found)

    def _of(self, node: Node) -> tuple[str, ...] | None:
        """Members of the sequence that a node gives or reads, or the one that it picks; None where not known."""
        if node.op in ("SequenceConstruct", "SequenceEmpty"):
            return node.inputs
        members = self._members.get(node.inputs[0])
        if members is None or node.op in ("SequenceLength", "ConcatFromSequence"):
            return members
        insert = node.op == "SequenceInsert"
        last = len(members) if insert else len(members) - 1
        at = self._place(node, 2 if insert else 1, len(members), last)
        if at is None:
            return None
        if node.op == "SequenceAt":
            return members[at : at + 1]
        return (*members[:at], *(node.inputs[1:2] if insert else ()), *members[at + (not insert) :])

    def _place(self, node: Node, i: int, count: int, last: int) -> int | None:
        """A place in a sequence of so many, up to `last`, which is meant where none is said."""
        if len(node.inputs) <= i or not node.inputs[i]:
            return last if last >= 0 else None
        v = self._values.get(node.inputs[i])
        at = -count - 1 if v is None else int(v.reshape(-1)[0])
        return at % count if -count <= at < 0 else at if 0 <= at <= last else None

    def _split(self, node: Node, out: str) -> list[Node]:
        """Pieces of a tensor, where their number is known."""
        axis, parts = node.attrs.get("axis", 0), node.inputs[1] if len(node.inputs) > 1 else ""
        of: tuple[Dim, ...] | None = self._shapes.get(parts or node.inputs[0])
        value: Array | None = self._values.get(parts)
        if parts and value is not None:
            of = value.shape
        if of is None or not isinstance(axis, int) or (parts and len(of) != 1) or not -len(of) <= axis < len(of):
            return []
        count = of[0] if parts else of[axis]
        if not isinstance(count, int) or count < 1 or (not parts and not node.attrs.get("keepdims", 1)):
            return []
        pieces = tuple(f"{out}.{k}" for k in range(count))
        self._members[out] = pieces
        attrs = {"axis": axis}
        return [replace(node, name=f"{node.name}.split", op="Split", outputs=pieces, attrs=attrs, version=13)]

    def _joined(self, node: Node, members: tuple[str, ...]) -> list[Node]:
        """The members side by side, or along a new axis."""
        axis, new = node.attrs.get("axis"), bool(node.attrs.get("new_axis", 0))
        if not members or not isinstance(axis, int):
            return [node]
        if not new:
            return [replace(node, op="Concat", inputs=members, attrs={"axis": axis}, version=13)]
        at, out = f"{node.outputs[0]}.axis", node.outputs[0]
        self.constants[at] = np.array([axis], np.int64)
        parts = tuple(f"{out}.{k}" for k in range(len(members)))
        turned = [
            Node(f"{node.name}.{k}", "Unsqueeze", (x, at), (part,), {}, "", 13)
            for k, (x, part) in enumerate(zip(members, parts, strict=True))
        ]
        return [*turned, replace(node, op="Concat", inputs=parts, attrs={"axis": axis}, version=13)]

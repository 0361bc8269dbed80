"""In what blocks weights are zeros, as a model's metadata has it: other programs read the zeros and pass over it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace

from workbench.graph.graph import Node
from workbench.graph.model import Program
from workbench.graph.operator_facts import BLOCK

#: Key of a model's metadata: columns and rows of the blocks by the names of products, as JSON.
BLOCKS = "workbench.sparse_blocks"


def text_of(nodes: Iterable[Node]) -> str:
    """What is written of nodes; "" where none has blocks."""
    blocks = {n.name: n.attrs[BLOCK] for n in nodes if BLOCK in n.attrs}
    return json.dumps(blocks) if blocks else ""


def with_blocks(program: Program, text: str) -> Program:
    """A program whose products have the blocks that a text says; what is none is passed over."""
    try:
        found = dict(json.loads(text or "{}"))
    except (ValueError, TypeError, RecursionError):
        return program
    known = {name: tuple(sizes) for name, sizes in found.items() if _is_block(sizes)}
    if not known:
        return program
    nodes = tuple(
        replace(n, attrs={**n.attrs, BLOCK: known[n.name]}) if n.name in known and n.op in ("MatMul", "Gemm") else n
        for n in program.nodes
    )
    return replace(program, nodes=nodes)


def _is_block(sizes: object) -> bool:
    return isinstance(sizes, list) and len(sizes) == 2 and all(type(n) is int and n > 0 for n in sizes)

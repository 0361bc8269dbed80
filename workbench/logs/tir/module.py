"""Functions of a stored module: buffers, blocks, and the loops around each block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.logs.tir.graph import TirGraph, TirNode, graph_of

_DEEPEST = 200
"""Statements inside each other that are followed. Chosen: a longer chain is a damaged one, or one that turns round."""


@dataclass(frozen=True, slots=True)
class TirLoop:
    """A loop: its name, and how often it runs."""

    name: str
    extent: int


@dataclass(frozen=True, slots=True)
class TirAxis:
    """An axis of a block: the place of its variable, its name, extent, and whether it is reduced over."""

    place: int
    name: str
    extent: int
    reduced: bool


@dataclass(frozen=True, slots=True)
class TirBuffer:
    """A tensor: the place of its node, its name, type and shape."""

    place: int
    name: str
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TirBlock:
    """A block: its name, the loops around it, its axes with what they are bound to, and its statements as nodes."""

    name: str
    loops: tuple[TirLoop, ...]
    axes: tuple[TirAxis, ...] = ()
    bindings: tuple[str, ...] = ()
    body: TirNode | None = None
    init: TirNode | None = None


@dataclass(frozen=True, slots=True)
class TirFunction:
    """A function: its name, parameters, temporaries, and blocks in the order in which they run, the root left out."""

    name: str
    params: tuple[TirBuffer, ...]
    temporaries: tuple[TirBuffer, ...] = ()
    blocks: tuple[TirBlock, ...] = field(default=())

    def block(self, name: str) -> TirBlock | None:
        """Return a block by its name."""
        return next((block for block in self.blocks if block.name == name), None)


def read_module(text: str) -> Mapping[str, TirFunction]:
    """Return the functions of a module that MetaSchedule has stored, by their names.

    Raises
    ------
    ValueError, LookupError, TypeError, AttributeError, RecursionError
        For a text of another form.
    """
    graph: TirGraph = graph_of(text)
    functions = graph.root["functions"].pairs()
    return {str(name): _function(str(name), node) for name, node in functions.items() if node.kind == "PrimFunc"}


def _function(name: str, node: TirNode) -> TirFunction:
    params = tuple(map(buffer_of, node["params"]))
    root = node["body"]
    blocks, temporaries = list(_blocks(root, ())), []
    if blocks and not blocks[0].loops and not blocks[0].axes and blocks[0].name == "root":
        blocks.pop(0)
        temporaries = [buffer_of(one) for one in root["block"]["alloc_buffers"]]
    return TirFunction(name, params, tuple(temporaries), tuple(blocks))


def buffer_of(node: TirNode) -> TirBuffer:
    """Return the tensor that a variable or buffer stands for."""
    kind = node.get("ty")
    shape = tuple(whole(size) for size in kind["shape"])
    dtype = kind["dtype"]
    return TirBuffer(node.place, str(node.get("name_hint", "name")), dtype_of(dtype), shape)


def dtype_of(value: str | TirNode) -> str:
    """Return the name of a type of elements."""
    return value if isinstance(value, str) else str(value["dtype"])


def whole(value: int | TirNode) -> int:
    """Return a constant."""
    number = value["value"] if isinstance(value, TirNode) and value.kind == "IntImm" else value
    if not isinstance(number, int):
        raise TypeError(f"{value!r} is no whole number")
    return number


def _blocks(node: TirNode, loops: Sequence[tuple[int, TirLoop]], depth: int = 0) -> Iterator[TirBlock]:
    if depth > _DEEPEST:
        raise RecursionError("statements inside each other without end")
    if node.kind == "SeqStmt":
        for part in node["seq"]:
            yield from _blocks(part, loops, depth + 1)
    elif node.kind == "For":
        variable = node["loop_var"]
        loop = TirLoop(str(variable.get("name_hint", "name")), whole(node["extent"]))
        yield from _blocks(node["body"], (*loops, (variable.place, loop)), depth + 1)
    elif node.kind in ("BlockRealize", "SBlockRealize"):
        yield from _realized(node, loops, depth)


def _realized(node: TirNode, loops: Sequence[tuple[int, TirLoop]], depth: int) -> Iterator[TirBlock]:
    block = node["block"]
    axes = tuple(_axis(one) for one in block["iter_vars"])
    names = {place: loop.name for place, loop in loops}
    bindings = tuple(names.get(one.place, "") if isinstance(one, TirNode) else "" for one in node["iter_values"])
    body, init = block["body"], block["init"]
    yield TirBlock(str(block["name_hint"]), tuple(loop for _, loop in loops), axes, bindings, body, init)
    if body.kind != "BufferStore":
        yield from _blocks(body, loops, depth + 1)


def _axis(node: TirNode) -> TirAxis:
    variable = node["var"]
    reduced = node["iter_type"] == 2  # 0 is data parallel, 2 a commutative reduction
    return TirAxis(variable.place, str(variable.get("name_hint", "name")), whole(node["dom"]["extent"]), reduced)

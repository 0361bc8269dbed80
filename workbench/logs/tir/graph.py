"""The nodes of a stored module: a list of objects that name each other by their places."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

Literal: TypeAlias = "int | float | str | bool | None"

_LITERALS = frozenset({"iter_type", "kind"})
"""Fields that hold a value where others hold the place of a node."""

_PLAIN = {"ffi.String": "String", "runtime.String": "String", "int": "int", "float": "float", "bool": "bool"}


class TirNode:
    """An object of a stored module.

    Attributes
    ----------
    kind : str
        Its type without the name space: ``For``, ``BufferStore``.
    """

    __slots__ = ("_graph", "kind", "place")

    def __init__(self, graph: TirGraph, place: int) -> None:
        self._graph, self.place = graph, place
        self.kind = graph.type_of(place).rpartition(".")[2]

    def __repr__(self) -> str:
        return f"{self.kind}@{self.place}"

    def __getitem__(self, field: str) -> Any:
        """Return a field: a node, or a plain value.

        Raises
        ------
        LookupError
            Where there is no such field.
        """
        value = self._graph.data_of(self.place)[field]
        literal = field in _LITERALS or (field == "value" and self.kind == "FloatImm") or isinstance(value, str)
        return value if literal or not isinstance(value, int) or isinstance(value, bool) else self._graph.value(value)

    def get(self, *fields: str) -> Any:
        """Return the first of several fields that there is (names have changed between releases)."""
        data = self._graph.data_of(self.place)
        for field in fields:
            if field in data:
                return self[field]
        raise KeyError(fields[0])

    @property
    def text(self) -> str:
        """Return the name of an operator, which is stored as a text of its own type."""
        data = self._graph.data_of(self.place)
        return data if isinstance(data, str) else str(self.get("name", "name_hint"))

    def __iter__(self) -> Iterator[Any]:
        """Items of an array."""
        return (self._graph.value(place) for place in self._graph.data_of(self.place))

    def pairs(self) -> Mapping[Any, Any]:
        """Return a map's keys and values; a key that is a node is replaced by its name."""
        found = list(self)
        keys = (k["name_hint"] if isinstance(k, TirNode) else k for k in found[::2])
        return dict(zip(keys, found[1::2], strict=True))


class TirGraph:
    """A stored module, decoded as its nodes are asked for."""

    def __init__(self, nodes: Sequence[Mapping[str, Any]], root: int) -> None:
        self._nodes, self._root = nodes, root

    @property
    def root(self) -> Any:
        """The module."""
        return self.value(self._root)

    def type_of(self, place: int) -> str:
        """Return the full type of a node."""
        return str(self._nodes[place]["type"])

    def data_of(self, place: int) -> Any:
        """Return the fields of a node, or the places of an array's items."""
        return self._nodes[place]["data"]

    def value(self, place: int) -> Any:
        """Return a node, or the plain value that it stands for."""
        if place < 0:
            raise IndexError(place)
        kind = self.type_of(place)
        if kind == "None":
            return None
        return self.data_of(place) if kind in _PLAIN else TirNode(self, place)


def graph_of(text: str) -> TirGraph:
    """Return the graph of a base64 text: eight bytes that say the length, then JSON.

    Raises
    ------
    ValueError, LookupError, TypeError, RecursionError
        For a text of another form.
    """
    packed = base64.b64decode(text, validate=True)
    size = int.from_bytes(packed[:8], "little")
    if size != len(packed) - 8:
        raise ValueError(f"{len(packed) - 8} bytes in the place of {size}")
    told = json.loads(packed[8:])
    return TirGraph(told["nodes"], told["root_index"])

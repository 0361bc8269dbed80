"""What a model file says before anything about shapes is decided: nodes, weights, and inputs with open dimensions.

`Program.graph` fixes the shapes and gives the typed `Graph` that everything else works on. Bodies of If, Loop and Scan
are programs too; what they read from outside stands among the inputs of their node.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from workbench.errors import InputError, ModelError, did_you_mean, option
from workbench.graph.graph import Array, Graph, Node, TensorType, topological
from workbench.ir.size_limits import MOST_DIMENSIONS
from workbench.late_binding import Provided
from workbench.model_files.element_types import check_dtype
from workbench.safe_text import shown_legibly

Dim: TypeAlias = int | str | None
"""A size, the name of an open one, or nothing known."""

#: `Program.graph`, with the largest size of tensors whose length data decide: `bounded_sizes`.
within_bounds: Provided[[Program, Mapping[str, Sequence[int]]], Graph] = Provided("graphs with sizes that data decide")


@dataclass(frozen=True, slots=True)
class Declared:
    """An input as the model declares it; `dims` is None without any shape, `dtype` is "" for what is no tensor."""

    name: str
    dtype: str
    dims: tuple[Dim, ...] | None

    @property
    def pretty(self) -> str:
        """The dimensions, as far as they are known."""
        return "x".join("?" if d is None else str(d) for d in self.dims or ())

    @property
    def kind(self) -> str:
        """Element type and dimensions, as far as they are known, for a person."""
        if not self.dtype:
            return "no tensor"
        return f"{self.dtype}[{self.pretty}]" if self.dims is not None else f"{self.dtype} of any shape"

    def type(self, given: Sequence[int] | None, symbols: Mapping[str, int]) -> TensorType:
        """Type with the dimensions that are given, or that a named dimension has elsewhere.

        Raises
        ------
        ModelError
            "model.unresolved_dim", "model.shape_conflict", "model.too_large".
        InputError
            "shape.empty".
        """
        if (rank := len(given or self.dims or ())) > MOST_DIMENSIONS:
            text = f"The input {self.name!r} has {rank} dimensions; there are at most {MOST_DIMENSIONS}."
            raise ModelError("model.too_large", text, (self.name,))
        if given is not None:
            return TensorType(self._given(given), self.dtype)
        if self.dims is None:
            text = f"The input {self.name!r} has no shape in the model."
            raise ModelError("model.unresolved_dim", text, (self.name,), self._example((1, 3, 224, 224)))
        dims = [d if isinstance(d, int) else symbols.get(d or "", 0) for d in self.dims]
        if 0 in dims:
            at = dims.index(0)
            label = f" ({self.dims[at]!r})" if self.dims[at] else ""
            raise ModelError(
                "model.unresolved_dim",
                f"Dimension {at}{label} of the input {self.name!r} ({self.pretty}) is open.",
                (self.name, str(at)),
                self._example([d or 1 for d in dims]),
            )
        return TensorType(tuple(dims), self.dtype)

    def _example(self, dims: Sequence[int]) -> str:
        """Hint how to say the shape."""
        words = option(f"shapes={ {self.name: tuple(dims)} }", f"--shape {self.name}={'x'.join(map(str, dims))}")
        name = next((d for d in self.dims or () if isinstance(d, str)), "")
        lengths = option(f"dynamic={{{name!r}: range(1, 65)}}", f"--dynamic {name}=1..64") if name else ""
        return f"say it: {words}{f', or a range of lengths: {lengths}' if lengths else ''}"

    def _given(self, given: Sequence[int]) -> tuple[int, ...]:
        if any(int(g) < 1 for g in given):
            text = f"The shape given for {self.name!r} has a dimension below 1: {list(given)}."
            raise InputError("shape.empty", text, (self.name,))
        if not self.fits(given):
            raise ModelError(
                "model.shape_conflict",
                f"The input {self.name!r} is {self.pretty} in the model, not {'x'.join(map(str, given))}.",
                (self.name,),
                "only dimensions that the model leaves open can be chosen",
            )
        return tuple(int(g) for g in given)

    def fits(self, shape: Sequence[int]) -> bool:
        """Whether a shape agrees with the dimensions that are known."""
        if self.dims is None:
            return True
        return len(self.dims) == len(shape) and all(
            not isinstance(d, int) or d == s for d, s in zip(self.dims, shape, strict=True)
        )


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A network as its file has it.

    Attributes
    ----------
    name : str
    nodes : tuple of Node
        In topological order.
    inputs : tuple of Declared
    outputs : tuple of str
    constants : mapping
        Tensor name -> array.
    captures : tuple of str
        Tensors of the surrounding program that a body reads.
    sizes : mapping
        Named dimension -> its length where nobody says one.
    compiled : callable, optional
        Of a body: its outputs for the values of what it reads, in machine code.
    """

    name: str
    nodes: tuple[Node, ...]
    inputs: tuple[Declared, ...]
    outputs: tuple[str, ...]
    constants: Mapping[str, Array] = field(default_factory=dict)
    captures: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    compiled: Callable[[Mapping[str, Array]], Mapping[str, Array]] | None = None

    @staticmethod
    def make(
        name: str,
        nodes: Iterable[Node],
        inputs: Sequence[Declared],
        outputs: Sequence[str],
        constants: Mapping[str, Array],
        body: bool = False,
    ) -> Program:
        """Sort the nodes and check the names; a body may read what it does not make.

        Raises
        ------
        ModelError
            "model.duplicate_name", "model.cycle", "model.invalid_graph".
        """
        nodes = tuple(nodes)
        own = {v.name for v in inputs} | set(constants)
        made = {o for n in nodes for o in n.outputs}
        read = [i for n in nodes for i in n.inputs if i] + list(outputs)
        outside = tuple(dict.fromkeys(i for i in read if i not in own and i not in made)) if body else ()
        used = set(read)
        nodes = tuple(
            replace(n, outputs=(*n.outputs[:1], *(o if o in used else "" for o in n.outputs[1:]))) for n in nodes
        )
        order = topological(nodes, own | set(outside), outputs)
        return Program(name, order, tuple(inputs), tuple(outputs), dict(constants), outside)

    @property
    def ends(self) -> str:
        """Inputs and outputs by name, for a person."""
        return f"inputs {', '.join(v.name for v in self.inputs)}, outputs {', '.join(self.outputs)}"

    @shown_legibly
    def __str__(self) -> str:
        lines = [f"graph {self.name} ({len(self.nodes)} nodes, {len(self.constants)} constants)"]
        lines += [f"  input  {v.name}: {v.kind}" for v in self.inputs]
        lines += [f"  {n}" for n in self.nodes]
        return "\n".join([*lines, *(f"  output {o}" for o in self.outputs)])

    @shown_legibly
    def __repr__(self) -> str:
        return f"<Program {self.name}: {len(self.nodes)} nodes, {self.ends}>"

    def graph(self, shapes: Mapping[str, Sequence[int]] | None = None) -> Graph:
        """Typed graph with the open dimensions as in `shapes`; dimensions of one name are equal everywhere.

        Raises
        ------
        ModelError
            "model.unresolved_dim", "model.unknown_input", "model.shape_conflict", "model.unsupported_dtype", or what
            inference finds.
        """
        found = Graph.make(self.name, self.nodes, self.types(shapes or {}), self.outputs, self.constants)
        for name, t in found.types.items():
            check_dtype(t.dtype, f"tensor {name!r}")
        return found

    def typed(self, types: Mapping[str, TensorType], values: Mapping[str, Array]) -> Graph:
        """Typed graph of a body, or of a program for inputs whose types, and some values, are known."""
        own = {v.name for v in self.inputs}
        used = {n: t for n, t in types.items() if (n in own or n in self.captures) and n not in values}
        fixed = {n: v for n, v in values.items() if n in own or n in self.captures}
        return Graph.make(self.name, self.nodes, used, self.outputs, {**self.constants, **fixed})

    def types(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, TensorType]:
        """Types of the inputs."""
        declared = {v.name: v for v in self.inputs}
        for name in shapes:
            if name not in declared:
                close = did_you_mean(str(name), declared, "inputs")
                raise ModelError("model.unknown_input", f"The model has no input {name!r}.", (name,), close)
        symbols: dict[str, int] = {}
        for v in self.inputs:
            for d, n in zip(v.dims or (), shapes.get(v.name, ()), strict=False):
                if isinstance(d, str):
                    symbols.setdefault(d, int(n))
        symbols = {**self.sizes, **symbols}
        for v in self.inputs:
            if not v.dtype:
                raise ModelError("model.unsupported_dtype", f"The input {v.name!r} is not a tensor.", (v.name,))
            check_dtype(v.dtype, f"input {v.name!r}")
        for name, a in self.constants.items():
            check_dtype(a.dtype.name, f"weight {name!r}")
        return {v.name: v.type(shapes.get(v.name), symbols) for v in self.inputs}

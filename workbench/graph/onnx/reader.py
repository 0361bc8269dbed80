"""Import of ONNX models."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.arguments import ArgumentTypeError, is_a, whole
from workbench.errors import InputError, ModelError
from workbench.graph.graph import AttrValue, Graph, Node, Source
from workbench.graph.model import Declared, Program, within_bounds
from workbench.graph.onnx.checks import check_attributes, check_texts, opset_of, opsets_of
from workbench.graph.onnx.functions import expand_functions
from workbench.graph.onnx.known_sequences import without_sequences
from workbench.graph.onnx.opset_upgrade import REPLACED, modern
from workbench.graph.onnx.sparse_blocks import BLOCKS, with_blocks
from workbench.graph.opdef import known, opdef
from workbench.graph.open_sizes import fixed, open_sizes
from workbench.model_files.model_path import SIZES, find_model
from workbench.model_files.opening import open_model
from workbench.model_files.weights import Tensors, dtype_of

if TYPE_CHECKING:
    import onnx

    from workbench.model_files.opening import Model


def load_onnx(
    path_or_model: Model,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dynamic: Mapping[str, Iterable[int]] | bool | None = None,
) -> Graph:
    """Read an ONNX model.

    Parameters
    ----------
    path_or_model : path, bytes or ModelProto
        External weights are looked up beside the file. A bare name that is no file here stands for the model of that
        name in the onnx package (``"light_resnet50"``), or in `workbench.zoo` (``"resnet-50"``), for a batch of one.
    shapes : mapping, optional
        Shapes of inputs whose dimensions the model leaves open: ``{"data": (1, 3, 224, 224)}``.
    dynamic : mapping, optional
        Lengths that open dimensions can have, by their names: ``{"n": range(1, 513)}``. A dimension without a name is
        called by the input's and its number: ``"data.3"``. The graph's types are those of the largest lengths. True
        leaves all to a run, also what could be compiled ahead: the graph has only a `tail`.

    Returns
    -------
    Graph
        Not optimised. Names are the model's. It is typed as far as that is known ahead; nodes whose types depend on
        shapes or values that a run brings are its `tail`: all of them where inputs are open, see `Graph.typed`.

    Raises
    ------
    ModelError
        "model.missing_file", "model.not_onnx", "model.truncated", "model.file_too_large", "model.opset",
        "model.unsupported_op", "model.unknown_input", "model.shape_conflict", "model.weights_missing",
        "model.external_data", "model.unsupported_dtype", "model.unsupported_attr", "model.invalid_attr",
        "model.shape_mismatch", "model.too_large", "model.duplicate_name", "model.cycle", "model.invalid_graph"; with
        `dynamic`, "model.unresolved_dim" for a dimension that it leaves out.
    UsageError
        "usage.dynamic" for a name that no open dimension has, or lengths that are no whole numbers above 0.

    Warns
    -----
    ModelWarning
        "model.nan_weights".
    """
    program, given = read_program(path_or_model), _checked(shapes)
    if dynamic is True:
        graph = Graph.of_tail(fixed(program, given))
        return graph.replace(source=source_of(path_or_model), open_sizes=open_sizes(program, {}))
    if dynamic is None or dynamic is False:
        return within_bounds(program, given).replace(
            source=source_of(path_or_model), open_sizes=open_sizes(program, {})
        )
    sizes = open_sizes(fixed(program, given or {}), dynamic)
    largest = sizes.at(sizes.largest)
    largest.types({})  # refuses what is still open
    graph = within_bounds(largest, {})
    return graph.replace(source=source_of(path_or_model), open_sizes=sizes)


def source_of(model: object) -> Source | None:
    """Return what finds a model again, from any folder; None for one in memory."""
    if not isinstance(model, str | os.PathLike):
        return None
    shipped = isinstance(model, str) and (find_model(model) != Path(model) or not os.path.exists(model))
    return Source(os.fspath(model) if shipped else os.path.abspath(model))


def read_program(path_or_model: Model) -> Program:
    """Read an ONNX model as its file has it, with open dimensions.

    Raises
    ------
    ModelError
        As for `load_onnx`, as far as no shapes are needed.
    """
    model, path, name, own = open_model(path_or_model, light=True)
    try:
        check_texts(model, name)
        opsets = opsets_of(model)
        model = expand_functions(model)
        opsets |= opsets_of(model)
        _check_operators(model.graph, opsets)
        if not model.graph.output:
            raise ModelError("model.invalid_graph", f"The model {name!r} has no output.", (name,))
        tensors = Tensors(path, own)
        program = without_sequences(_program(model.graph, opsets, tensors, name))
    except RecursionError:
        text = f"The model {name!r} has bodies or functions that are nested too deeply."
        raise ModelError("model.invalid_graph", text, (name,)) from None
    tensors.warn(name)
    said = {p.key: p.value for p in model.metadata_props}
    return with_blocks(replace(program, sizes=_sizes(said.get(SIZES, "{}"))), said.get(BLOCKS, ""))


def _sizes(text: str) -> dict[str, int]:
    """Lengths of open dimensions that a model brings along."""
    try:
        return {str(name): int(size) for name, size in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _program(
    graph: onnx.GraphProto, opsets: dict[str, int], tensors: Tensors, name: str, body: bool = False
) -> Program:
    constants = tensors.initializers(graph)
    inputs: dict[str, Declared] = {}
    for v in graph.input:
        if v.name in inputs:
            raise ModelError("model.duplicate_name", f"Two inputs are called {v.name!r}.", (v.name,))
        if v.name not in constants:
            inputs[v.name] = _declared(v)
    nodes = _nodes(graph, opsets, tensors)
    return Program.make(name, nodes, list(inputs.values()), [o.name for o in graph.output], constants, body)


def _declared(v: onnx.ValueInfoProto) -> Declared:
    if v.type.WhichOneof("value") != "tensor_type":
        return Declared(v.name, "", None)
    t = v.type.tensor_type
    dims = tuple(d.dim_value if d.dim_value > 0 else d.dim_param or None for d in t.shape.dim)
    return Declared(v.name, dtype_of(t.elem_type), dims if t.HasField("shape") else None)


def _checked(shapes: object) -> dict[str, tuple[int, ...]]:
    """Shapes as the caller gave them, each a tuple of whole numbers."""
    hint = 'give {"data": (1, 3, 224, 224)}'
    out: dict[str, tuple[int, ...]] = {}
    for name, shape in is_a("shapes", {} if shapes is None else shapes, Mapping, hint).items():
        if isinstance(shape, str):
            raise ArgumentTypeError(
                "usage.type", f"The shape of {name!r} has to be a sequence of numbers", [name], hint
            )
        dims = is_a(f"the shape of {name!r}", shape, Iterable, hint)
        out[name] = tuple(
            whole(f"each dimension of {name!r}", d, least=None, code="usage.shape", word=False) for d in dims
        )
        if math.prod(out[name]) >= 2**48:
            text = f"The shape given for {name!r}, {out[name]}, has more elements than any machine can hold."
            raise InputError("shape.too_large", text, (name,), "give a smaller one")
    return out


def read_model(source: Model) -> tuple[onnx.ModelProto, Path | None, str]:
    """Parse a model without its external data.

    Returns
    -------
    tuple
        The model, the folder that it lies in (None when it came from memory), and a name for it.

    Raises
    ------
    ModelError
        "model.missing_file", "model.not_onnx", "model.truncated" or "model.file_too_large".
    """
    model, path, name, _ = open_model(source, light=False)
    return model, None if path is None else path.parent, name


def _check_operators(graph: onnx.GraphProto, opsets: Mapping[str, int]) -> None:
    """Report the first operator that is not known, and how many others there are."""
    bad: dict[tuple[str, str], Node] = {}
    for k, n in enumerate(graph.node):
        domain = _domain(n)
        if not (domain == "" and n.op_type in REPLACED) and not known(domain, n.op_type, opsets.get(domain, 0)):
            bad.setdefault(
                (domain, n.op_type), Node(_name_of(n, k), n.op_type, (), (), {}, domain, opsets.get(domain, 0))
            )
        for a in n.attribute:
            if a.HasField("g"):
                _check_operators(a.g, opsets)
    if bad:
        first, *others = bad.values()
        try:
            opdef(first)
        except ModelError as e:
            more = f" Neither are {', '.join(sorted(n.op for n in others))}." if others else ""
            raise ModelError(e.code, e.message + more, e.where, e.hint) from None


def _domain(node: onnx.NodeProto) -> str:
    return "" if node.domain == "ai.onnx" else str(node.domain)


def _name_of(node: onnx.NodeProto, position: int) -> str:
    return node.name or f"{node.op_type}_{position}"


def _nodes(graph: onnx.GraphProto, opsets: dict[str, int], tensors: Tensors) -> list[Node]:
    out: list[Node] = []
    used: set[str] = set()
    counts: dict[str, int] = {}
    for k, n in enumerate(graph.node):
        name = base = _name_of(n, k)
        while name in used:
            counts[base] = counts.get(base, 0) + 1
            name = f"{base}_{counts[base]}"
        used.add(name)
        domain = _domain(n)
        version = opset_of(name, n.op_type, domain, opsets)
        check_attributes(name, n.op_type, domain, version, n.attribute)
        attrs = {a.name: _attribute(name, a, opsets, tensors) for a in n.attribute}
        outside = dict.fromkeys(c for a in attrs.values() if isinstance(a, Program) for c in a.captures)
        if outside:  # what bodies read from here counts as read by the node
            attrs["captures"] = tuple(outside)
        inputs = (*n.input, *outside)
        out += modern(Node(name, n.op_type, inputs, tuple(n.output), attrs, domain, version))
    return out


def _attribute(node: str, a: onnx.AttributeProto, opsets: dict[str, int], tensors: Tensors) -> AttrValue:
    import onnx

    kinds = onnx.AttributeProto
    if a.type == kinds.TENSOR:
        return tensors.array(a.t, f"attribute {a.name} of node {node!r}")
    if a.type == kinds.SPARSE_TENSOR:
        return tensors.sparse(a.sparse_tensor, f"attribute {a.name} of node {node!r}")
    if a.type == kinds.GRAPH:
        return _program(a.g, opsets, tensors, f"{node}.{a.name}", body=True)
    if a.type in (kinds.INT, kinds.FLOAT):
        return int(a.i) if a.type == kinds.INT else float(a.f)
    if a.type == kinds.STRING:
        return str(a.s.decode(errors="replace"))
    if a.type in (kinds.INTS, kinds.FLOATS):
        return tuple(a.ints) if a.type == kinds.INTS else tuple(a.floats)
    if a.type == kinds.STRINGS:
        return tuple(v.decode(errors="replace") for v in a.strings)
    text = f"Attribute {a.name!r} of node {node!r} holds a type, several tensors, or nothing that is known."
    raise ModelError("model.unsupported_attr", text, (node, a.name))

"""Import of ONNX models."""

from __future__ import annotations

import errno
import importlib
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from ...arguments import ArgumentTypeError, is_a, whole
from ...errors import InputError, ModelError, did_you_mean
from ..graph import AttrValue, Graph, Node
from ..opdef import known, opdef
from ..program import Declared, Program
from .functions import expand_functions
from .shipped import find_model
from .weights import array_of, dtype_of, initializers
from .wire import diagnose

if TYPE_CHECKING:
    import onnx

    Source: TypeAlias = str | os.PathLike[str] | bytes | onnx.ModelProto


def load_onnx(path_or_model: Source, shapes: Mapping[str, Sequence[int]] | None = None) -> Graph:
    """Read an ONNX model.

    Parameters
    ----------
    path_or_model : path, bytes or ModelProto
        External weights are looked up beside the file. A bare name such as ``"light_resnet50"`` that is no file here
        stands for the model of that name in the onnx package.
    shapes : mapping, optional
        Shapes of inputs whose dimensions the model leaves open: ``{"data": (1, 3, 224, 224)}``.

    Returns
    -------
    Graph
        Typed, not optimised. Names are the model's.

    Raises
    ------
    ModelError
        "model.missing_file", "model.not_onnx", "model.truncated", "model.unsupported_op", "model.unresolved_dim",
        "model.unknown_input", "model.shape_conflict", "model.weights_missing", "model.external_data",
        "model.unsupported_dtype", "model.unsupported_attr", "model.dynamic_value", "model.dynamic_shape",
        "model.shape_mismatch", "model.duplicate_name", "model.cycle", "model.invalid_graph".
    """
    return read_program(path_or_model).graph(_checked(shapes))


def read_program(path_or_model: Source) -> Program:
    """Read an ONNX model as its file has it, with open dimensions.

    Raises
    ------
    ModelError
        As for `load_onnx`, as far as no shapes are needed.
    """
    model, folder, name = read_model(path_or_model)
    model = expand_functions(model)
    opsets = {o.domain or "": int(o.version) for o in model.opset_import}
    _check_operators(model.graph, opsets)
    if not model.graph.output:
        raise ModelError("model.invalid_graph", f"The model {name!r} has no output.", (name,))
    return _program(model.graph, opsets, folder, name)


def _program(
    graph: onnx.GraphProto, opsets: Mapping[str, int], folder: Path | None, name: str, body: bool = False
) -> Program:
    constants = initializers(graph, folder)
    inputs: dict[str, Declared] = {}
    for v in graph.input:
        if v.name in inputs:
            raise ModelError("model.duplicate_name", f"Two inputs are called {v.name!r}.", (v.name,))
        if v.name not in constants:
            inputs[v.name] = _declared(v)
    nodes = _nodes(graph, opsets, folder)
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
        out[name] = tuple(whole(f"each dimension of {name!r}", d, least=None, code="usage.shape") for d in dims)
        if math.prod(out[name]) >= 2**48:
            text = (
                f"The shape given for {name!r} has {math.prod(out[name]):.1e} elements, more than any machine can hold."
            )
            raise InputError("shape.too_large", text, (name,), "give a smaller one")
    return out


def read_model(source: Source) -> tuple[onnx.ModelProto, Path | None, str]:
    """Parse a model without its external data.

    Returns
    -------
    tuple
        The model, the folder that it lies in (None when it came from memory), and a name for it.

    Raises
    ------
    ModelError
        "model.missing_file", "model.not_onnx" or "model.truncated".
    """
    import onnx

    if isinstance(source, onnx.ModelProto):
        return source, None, source.graph.name or "model"
    if isinstance(source, bytes):
        model = _parse(source, "model")
        return model, None, model.graph.name or "model"
    if not isinstance(source, str | os.PathLike):
        message = f"A model is a path, bytes or an onnx.ModelProto, not {type(source).__name__}"
        raise ArgumentTypeError("usage.type", message)
    path = find_model(source) if isinstance(source, str) else Path(source)
    try:
        if path.is_char_device() or not os.fspath(source):  # some devices never end; Path("") is the current folder
            raise OSError(errno.EINVAL, "it is not a file")
        data = path.read_bytes()
    except OSError as e:
        why = "does not exist" if isinstance(e, FileNotFoundError) else f"cannot be read: {e.strerror}"
        raise ModelError(
            "model.missing_file",
            f"The model file {os.fspath(source)!r} {why}.",
            (os.fspath(source),),
            _neighbours(path),
        ) from None
    return _parse(data, str(path)), path.parent, path.stem


def _parse(data: bytes, where: str) -> onnx.ModelProto:
    import onnx

    kind = diagnose(data)
    if kind == "other":
        raise ModelError(
            "model.not_onnx", f"{where!r} is not an ONNX model.", (where,), "give a file that an ONNX exporter wrote"
        )
    decode_error = importlib.import_module("google.protobuf.message").DecodeError
    model = onnx.ModelProto()
    try:
        model.ParseFromString(data)
    except decode_error:
        kind = "truncated"
    if kind == "truncated" or not model.opset_import or not model.HasField("graph"):
        what = "is empty" if not data else f"ends too early or is damaged ({len(data)} bytes)"
        raise ModelError(
            "model.truncated", f"The model file {where!r} {what}.", (where,), "download or export it again"
        )
    return model


def _neighbours(path: Path) -> str:
    try:
        models = sorted(p.name for p in path.parent.iterdir() if p.suffix == ".onnx")
    except OSError:
        return f"there is no folder {str(path.parent)!r}"
    return (
        did_you_mean(path.name, models, "models there") if models else f"there is no .onnx file in {str(path.parent)!r}"
    )


def _check_operators(graph: onnx.GraphProto, opsets: Mapping[str, int]) -> None:
    """Report the first operator that is not known, and how many others there are."""
    bad: dict[tuple[str, str], Node] = {}
    for k, n in enumerate(graph.node):
        domain = _domain(n)
        if not known(domain, n.op_type, opsets.get(domain, 0)):
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


def _nodes(graph: onnx.GraphProto, opsets: Mapping[str, int], folder: Path | None) -> list[Node]:
    out: list[Node] = []
    used: set[str] = set()
    for k, n in enumerate(graph.node):
        name = base = _name_of(n, k)
        count = 0
        while name in used:
            count += 1
            name = f"{base}_{count}"
        used.add(name)
        domain = _domain(n)
        attrs = {a.name: _attribute(name, a, opsets, folder) for a in n.attribute}
        outside = dict.fromkeys(c for a in attrs.values() if isinstance(a, Program) for c in a.captures)
        if outside:  # what bodies read from here counts as read by the node
            attrs["captures"] = tuple(outside)
        inputs = (*n.input, *outside)
        out.append(Node(name, n.op_type, inputs, tuple(n.output), attrs, domain, opsets.get(domain, 18)))
    return out


def _attribute(node: str, a: onnx.AttributeProto, opsets: Mapping[str, int], folder: Path | None) -> AttrValue:
    import onnx

    kinds = onnx.AttributeProto
    if a.type == kinds.TENSOR:
        return array_of(a.t, None, f"attribute {a.name} of node {node!r}")
    if a.type == kinds.GRAPH:
        return _program(a.g, opsets, folder, f"{node}.{a.name}", body=True)
    value: Any = onnx.helper.get_attribute_value(a)
    if a.type in (kinds.INT, kinds.FLOAT):
        return int(value) if a.type == kinds.INT else float(value)
    if a.type == kinds.STRING:
        return str(value.decode())
    if a.type in (kinds.INTS, kinds.FLOATS):
        return tuple(value)
    if a.type == kinds.STRINGS:
        return tuple(v.decode() for v in value)
    text = f"Attribute {a.name!r} of node {node!r} holds a sparse tensor or a type."
    raise ModelError("model.unsupported_attr", text, (node, a.name))

"""Import of ONNX models; with `fill`, the only module that knows the onnx package."""

from __future__ import annotations

import errno
import importlib
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..arguments import ArgumentTypeError, is_a, whole
from ..errors import InputError, ModelError, did_you_mean
from .graph import Array, AttrValue, Graph, Node, TensorType
from .opdef import opdef, registry
from .shipped import find_model
from .wire import diagnose

if TYPE_CHECKING:
    import onnx

    Source: TypeAlias = str | os.PathLike[str] | bytes | onnx.ModelProto

#: Element types that a graph may hold.
DTYPES = (
    "float32",
    "float64",
    "float16",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
)


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
        "model.unsupported_dtype", "model.unsupported_attr", "model.dynamic_value", "model.shape_mismatch",
        "model.duplicate_name", "model.cycle", "model.invalid_graph".
    """
    model, folder, name = read_model(path_or_model)
    graph = model.graph
    _check_operators(graph)
    constants = _initializers(graph, folder)
    types = _inputs(graph, constants, _checked(shapes))
    opsets = {o.domain or "": int(o.version) for o in model.opset_import}
    nodes = _nodes(graph, opsets, set(types) | set(constants))
    if not graph.output:
        raise ModelError("model.invalid_graph", f"The model {name!r} has no output.", (name,))
    return Graph.make(name, nodes, types, [o.name for o in graph.output], constants)


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


def _check_operators(graph: onnx.GraphProto) -> None:
    """Report the first operator that is not known, and how many others there are."""
    bad: dict[tuple[str, str], Node] = {}
    for k, n in enumerate(graph.node):
        domain = "" if n.domain == "ai.onnx" else n.domain
        if domain or n.op_type not in registry():
            bad.setdefault((domain, n.op_type), Node(_name_of(n, k), n.op_type, (), (), {}, domain))
    if bad:
        first, *others = bad.values()
        try:
            opdef(first)
        except ModelError as e:
            more = f" Neither are {', '.join(sorted(n.op for n in others))}." if others else ""
            raise ModelError(e.code, e.message + more, e.where, e.hint) from None


def _name_of(node: onnx.NodeProto, position: int) -> str:
    return node.name or f"{node.op_type}_{position}"


def _nodes(graph: onnx.GraphProto, opsets: Mapping[str, int], given: set[str]) -> list[Node]:
    out: list[Node] = []
    used: set[str] = set()
    for k, n in enumerate(graph.node):
        name = base = _name_of(n, k)
        count = 0
        while name in used:
            count += 1
            name = f"{base}_{count}"
        used.add(name)
        domain = "" if n.domain == "ai.onnx" else n.domain
        attrs = {a.name: _attribute(name, a) for a in n.attribute}
        out.append(Node(name, n.op_type, tuple(n.input), tuple(n.output), attrs, domain, opsets.get(domain, 18)))
    return out


def _attribute(node: str, a: onnx.AttributeProto) -> AttrValue:
    import onnx

    kinds = onnx.AttributeProto
    if a.type == kinds.TENSOR:
        return _array(a.t, None, f"attribute {a.name} of node {node!r}")
    value: Any = onnx.helper.get_attribute_value(a)
    if a.type in (kinds.INT, kinds.FLOAT):
        return int(value) if a.type == kinds.INT else float(value)
    if a.type == kinds.STRING:
        return str(value.decode())
    if a.type in (kinds.INTS, kinds.FLOATS):
        return tuple(value)
    if a.type == kinds.STRINGS:
        return tuple(v.decode() for v in value)
    raise ModelError(
        "model.unsupported_attr",
        f"Attribute {a.name!r} of node {node!r} holds a graph or a sparse tensor.",
        (node, a.name),
    )


def _initializers(graph: onnx.GraphProto, folder: Path | None) -> dict[str, Array]:
    out: dict[str, Array] = {}
    for t in graph.initializer:
        if t.name in out:
            raise ModelError("model.duplicate_name", f"Two initializers are called {t.name!r}.", (t.name,))
        out[t.name] = _array(t, folder, f"weight {t.name!r}")
    return out


def _array(t: onnx.TensorProto, folder: Path | None, what: str) -> Array:
    import onnx
    from onnx import numpy_helper

    dtype = _dtype(t.data_type, what)
    count = int(np.prod(t.dims, dtype=np.int64))
    if t.data_location == onnx.TensorProto.EXTERNAL:
        return _external(t, folder, what, dtype, count)
    if (
        count
        and not t.raw_data
        and not any(
            len(getattr(t, f)) for f in ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")
        )
    ):
        raise ModelError(
            "model.weights_missing",
            f"The {what} {list(t.dims)} has no data in the file.",
            (t.name,),
            "use the complete model, or --fill-weights SEED to make up weights",
        )
    try:
        return np.array(numpy_helper.to_array(t))
    except ValueError as e:
        raise ModelError(
            "model.invalid_graph", f"The data of {what} do not fit its shape {list(t.dims)}: {e}.", (t.name,)
        ) from None


def _external(t: onnx.TensorProto, folder: Path | None, what: str, dtype: str, count: int) -> Array:
    info = {e.key: e.value for e in t.external_data}
    place = info.get("location", "")
    if folder is None:
        raise ModelError(
            "model.weights_missing",
            f"The {what} lies in {place!r}, but the model was not read from a file.",
            (t.name, place),
            "give load_onnx the path of the model",
        )
    root, path = folder.resolve(), (folder / place).resolve()
    if not place or Path(place).is_absolute() or not path.is_relative_to(root):
        raise ModelError(
            "model.external_data",
            f"The {what} is said to lie in {place!r}, outside of the model's folder.",
            (t.name, place),
            f"put the data into {str(root)!r}",
        )
    nbytes = count * np.dtype(dtype).itemsize
    try:
        offset = int(info.get("offset", 0))
        with path.open("rb") as file:
            file.seek(offset)
            data = file.read(nbytes)
    except (OSError, ValueError):
        raise ModelError(
            "model.weights_missing",
            f"The {what} lies in {place!r}, which cannot be read.",
            (t.name, str(path)),
            "copy the external data beside the model",
        ) from None
    if len(data) < nbytes:
        raise ModelError(
            "model.weights_missing",
            f"The file {place!r} is too short for {what}: {nbytes} bytes from {offset} on are needed.",
            (t.name, str(path)),
            "copy the external data again",
        )
    return np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).astype(dtype).reshape(tuple(t.dims))


def _dtype(code: int, what: str) -> str:
    import onnx

    try:
        name = str(np.dtype(onnx.helper.tensor_dtype_to_np_dtype(code)).name)
        name = "string" if name == "object" else name
    except (KeyError, TypeError, ValueError):
        name = f"type {code}"
    if name not in DTYPES:
        raise ModelError(
            "model.unsupported_dtype",
            f"The {what} has element type {name}, which is not supported.",
            (),
            f"supported: {', '.join(DTYPES)}",
        )
    return name


def _inputs(
    graph: onnx.GraphProto, constants: Mapping[str, Array], shapes: Mapping[str, Sequence[int]]
) -> dict[str, TensorType]:
    """Types of the inputs that are not initializers, with open dimensions filled from `shapes`."""
    free = [v for v in graph.input if v.name not in constants]
    for name in shapes:
        if name not in [v.name for v in free]:
            raise ModelError(
                "model.unknown_input",
                f"The model has no input {name!r}.",
                (name,),
                did_you_mean(str(name), [v.name for v in free], "inputs"),
            )
    symbols: dict[str, int] = {}
    for v in free:
        for d, n in zip(v.type.tensor_type.shape.dim, shapes.get(v.name, ()), strict=False):
            if d.dim_param:
                symbols.setdefault(d.dim_param, int(n))
    out: dict[str, TensorType] = {}
    for v in free:
        if v.name in out:
            raise ModelError("model.duplicate_name", f"Two inputs are called {v.name!r}.", (v.name,))
        if v.type.WhichOneof("value") != "tensor_type":
            raise ModelError("model.unsupported_dtype", f"The input {v.name!r} is not a tensor.", (v.name,))
        out[v.name] = TensorType(
            _input_shape(v, shapes.get(v.name), symbols), _dtype(v.type.tensor_type.elem_type, f"input {v.name!r}")
        )
    return out


def _input_shape(v: onnx.ValueInfoProto, given: Sequence[int] | None, symbols: Mapping[str, int]) -> tuple[int, ...]:
    t = v.type.tensor_type
    if given is not None:
        if any(int(g) < 1 for g in given):
            raise InputError(
                "shape.empty", f"The shape given for {v.name!r} has a dimension below 1: {list(given)}.", (v.name,)
            )
        fixed = [d.dim_value for d in t.shape.dim]
        fits = not t.HasField("shape") or (
            len(fixed) == len(given) and all(f < 1 or f == g for f, g in zip(fixed, given, strict=True))
        )
        if not fits:
            raise ModelError(
                "model.shape_conflict",
                f"The input {v.name!r} is {_pretty(v)} in the model, not {'x'.join(map(str, given))}.",
                (v.name,),
                "only dimensions that the model leaves open can be chosen",
            )
        return tuple(int(g) for g in given)
    if not t.HasField("shape"):
        raise ModelError(
            "model.unresolved_dim",
            f"The input {v.name!r} has no shape in the model.",
            (v.name,),
            f"say it: --shape {v.name}=1x3x224x224",
        )
    dims = [d.dim_value if d.dim_value > 0 else symbols.get(d.dim_param, 0) for d in t.shape.dim]
    if 0 in dims:
        at = dims.index(0)
        label = t.shape.dim[at].dim_param
        example = "x".join(str(d or 1) for d in dims)
        raise ModelError(
            "model.unresolved_dim",
            f"Dimension {at}{f' ({label!r})' if label else ''} of the input {v.name!r} ({_pretty(v)}) is open.",
            (v.name, str(at)),
            f"say it: --shape {v.name}={example}",
        )
    return tuple(dims)


def _pretty(v: onnx.ValueInfoProto) -> str:
    return "x".join(str(d.dim_value) if d.dim_value > 0 else d.dim_param or "?" for d in v.type.tensor_type.shape.dim)

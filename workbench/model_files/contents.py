"""What an ONNX file holds, for somebody who looks at it: nodes, attributes, types, weights.

Nothing is decided here: operators that nobody knows are there as others are, open dimensions stay open, and types are
what the file says and what the onnx package infers from it.
"""

from __future__ import annotations

import graphlib
import importlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ModelError, WorkbenchError
from workbench.model_files.opening import open_model
from workbench.model_files.weights import Tensors, dtype_of

if TYPE_CHECKING:
    import onnx

#: Elements of a list or a tensor that are written out. Chosen by eye.
WRITTEN_OUT = 12
#: Elements that are looked at together; it bounds the memory.
_CHUNK = 1 << 22
#: Bars of a histogram. Chosen by eye.
BARS = 24


def prepare() -> None:
    """Load the onnx package, for who wants to be quick later."""
    importlib.import_module("onnx.shape_inference")


@dataclass(frozen=True, slots=True)
class FileNode:
    """A node; `name` is unique, made up where the file has none, `attributes` are as they are shown."""

    name: str
    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FileContents:
    """A model as its file has it.

    Attributes
    ----------
    about : mapping
        What the file says of itself, by what it is called.
    nodes : tuple of FileNode
        In topological order.
    types : mapping
        Tensor -> its type in words, ``float32 1×3×224×224``; "?" stands for what is not known.
    inputs, outputs : tuple of str
        Without the weights.
    weights : mapping
        Name -> bytes; what has no data in the file counts as if it had.
    """

    name: str
    about: Mapping[str, str]
    nodes: tuple[FileNode, ...]
    types: Mapping[str, str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    weights: Mapping[str, int]


class ModelFile:
    """An ONNX file that is open to be looked at.

    Raises
    ------
    ModelError
        "model.missing_file", "model.not_onnx", "model.truncated", "model.file_too_large".
    """

    def __init__(self, path: str) -> None:
        self._model, where, self.name, own = open_model(path, light=True)
        self._tensors = Tensors(where, own, hidden=False)  # a server does not give out hidden files
        self._constants = dict(_constants(self._model.graph))

    def contents(self) -> FileContents:
        """Return what is in it.

        Raises
        ------
        ModelError
            "model.cycle".
        """
        graph = self._model.graph
        dense = self._dense()
        weights = {name: math.prod(t.dims) * _itemsize(t.data_type) for name, t in dense.items()}
        weights |= {s.values.name: math.prod(s.dims) * _itemsize(s.values.data_type) for s in graph.sparse_initializer}
        return FileContents(
            self.name,
            self._about(sum(map(_count, dense.values()))),
            _sorted([n for n in _nodes(graph) if not self._constants.keys() & set(n.outputs)]),
            _types(self._model) | {name: _tensor_type(t) for name, t in dense.items()},
            tuple(v.name for v in graph.input if v.name not in weights),
            tuple(v.name for v in graph.output),
            weights,
        )

    def _dense(self) -> dict[str, onnx.TensorProto]:
        """Return weights by name: initializers, and what Constant nodes hold, as some exporters write all weights."""
        return {t.name: t for t in self._model.graph.initializer} | self._constants

    def _about(self, parameters: int) -> dict[str, str]:
        model = self._model
        opsets = ", ".join(f"{o.domain or 'ai.onnx'} {o.version}" for o in model.opset_import)
        producer = " ".join(filter(None, (model.producer_name, model.producer_version)))
        functions = str(len(model.functions)) if len(model.functions) else ""
        found = {
            "Nodes": f"{len(model.graph.node) - len(self._constants):,}", "Parameters": f"{parameters:,}",
            "Constants": f"{len(self._constants):,} nodes, shown as weights" * bool(self._constants), "Opset": opsets,
            "Producer": producer, "Functions": functions, "Description": model.doc_string or model.graph.doc_string,
        }  # fmt: skip
        return {key: value for key, value in found.items() if value}

    def statistics(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the name of each weight with its `statistics`, or ``{"why": …}`` where it cannot be read."""
        for name, t in self._dense().items():
            try:
                yield name, statistics(self._tensors.array(t, f"weight {name!r}"))
            except WorkbenchError as error:
                yield name, {"why": error.message}
        for s in self._model.graph.sparse_initializer:
            yield s.values.name, {"why": "It is sparse; statistics are of dense weights."}


def statistics(a: NDArray[Any]) -> dict[str, Any]:
    """Return what is to be known of a weight: values of a small one; else extremes, mean, spread, zeros, a histogram.

    ``zeros`` is their share, ``odd`` how many elements are not finite, which the others leave out; ``bars`` counts the
    elements in `BARS` intervals of equal width from the least to the largest.
    """
    flat = np.asarray(a).reshape(-1)
    if flat.size <= WRITTEN_OUT or (flat.dtype.kind not in "iufb" and flat.dtype.name != "bfloat16"):
        return {"values": _values(flat)}

    def parts() -> Iterator[NDArray[np.float64]]:
        return (_finite(flat[at : at + _CHUNK]) for at in range(0, flat.size, _CHUNK))

    count = sum(part.size for part in parts())
    if not count:
        return {"odd": int(flat.size)}
    least = min(float(p.min()) for p in parts() if p.size)
    most = max(float(p.max()) for p in parts() if p.size)
    mean = sum(float(p.sum()) for p in parts()) / count
    spread = math.sqrt(sum(float(np.square(p - mean).sum()) for p in parts()) / count)
    span = (least, most) if least < most else (least - 0.5, least + 0.5)
    try:
        bars = sum(np.histogram(p, BARS, span)[0] for p in parts())
    except ValueError:  # they lie too close together, or too far apart, for float64
        bars = np.zeros(0)
    return {
        "min": least, "max": most, "mean": mean, "std": spread, "odd": int(flat.size - count),
        "zeros": float(flat.size - np.count_nonzero(flat)) / flat.size, "bars": [int(n) for n in np.asarray(bars)],
    }  # fmt: skip


def _finite(part: NDArray[Any]) -> NDArray[np.float64]:
    wide = part.astype(np.float64)
    finite = np.isfinite(wide)
    return wide if finite.all() else wide[finite]


def _values(flat: NDArray[Any]) -> str:
    more = ", …" if flat.size > WRITTEN_OUT else ""
    return ", ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in flat[:WRITTEN_OUT].tolist()) + more


def _constants(graph: onnx.GraphProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    """Yield what Constant nodes hold as dense tensors, by the names of their results."""
    from onnx import numpy_helper

    kinds = {"value_float": np.float32, "value_floats": np.float32, "value_int": np.int64, "value_ints": np.int64}
    for node in graph.node:
        if node.op_type != "Constant" or node.domain not in ("", "ai.onnx"):
            continue
        if len(node.attribute) != 1 or len(node.output) != 1 or not node.output[0]:
            continue  # what has no name is nobody's weight
        [a] = node.attribute
        if a.name == "value" and a.HasField("t"):
            yield node.output[0], a.t
        elif a.name in kinds:
            value = {"value_float": a.f, "value_floats": a.floats, "value_int": a.i, "value_ints": a.ints}[a.name]
            yield node.output[0], numpy_helper.from_array(np.array(value, kinds[a.name]))


def _count(t: onnx.TensorProto) -> int:
    return math.prod(t.dims)


def _itemsize(code: int) -> int:
    try:
        return int(np.dtype(dtype_of(code)).itemsize)
    except TypeError:
        return 0


def _shape(dims: Sequence[object]) -> str:
    return "×".join("?" if d is None else str(d) for d in dims)


def _tensor_type(t: onnx.TensorProto) -> str:
    return f"{dtype_of(t.data_type)} {_shape(t.dims)}".strip()


def _types(model: onnx.ModelProto) -> dict[str, str]:
    """Types that the file says, and those that follow."""
    import onnx

    try:
        graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    except Exception:  # a model may be wrong in any way, and is shown all the same
        graph = model.graph
    return {v.name: _type(v) for v in (*graph.input, *graph.value_info, *graph.output)}


def _type(v: onnx.ValueInfoProto) -> str:
    kind = v.type.WhichOneof("value")
    if kind != "tensor_type":
        return (kind or "?").removesuffix("_type").replace("_", " ")
    t = v.type.tensor_type
    if not t.HasField("shape"):
        return f"{dtype_of(t.elem_type)} of any shape"
    dims = [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in t.shape.dim]
    dims = [None if isinstance(d, int) and d < 0 else d for d in dims]  # Paddle writes -1 for what is open
    return f"{dtype_of(t.elem_type)} {_shape(dims)}".strip()


def _nodes(graph: onnx.GraphProto) -> list[FileNode]:
    out: list[FileNode] = []
    used: dict[str, int] = {}
    for k, n in enumerate(graph.node):
        name = base = n.name or f"{n.op_type}_{k}"
        while name in used:
            used[base] += 1
            name = f"{base}_{used[base]}"
        used[name] = 0
        inner = dict.fromkeys(i for a in n.attribute for g in (a.g, *a.graphs) for i in _captured(g))
        inputs = (*n.input, *(i for i in inner if i not in n.input))
        attributes = {a.name: _attribute(a) for a in n.attribute}
        out.append(FileNode(name, n.op_type, n.domain, inputs, tuple(n.output), attributes))
    return out


def _captured(body: onnx.GraphProto) -> Iterator[str]:
    """Tensors of the surrounding graph that a body reads."""
    own = {v.name for v in body.input} | {t.name for t in body.initializer} | {o for n in body.node for o in n.output}
    inner = (i for n in body.node for a in n.attribute for g in (a.g, *a.graphs) for i in _captured(g))
    read = (i for n in body.node for i in n.input)
    return (i for i in (*read, *inner, *(v.name for v in body.output)) if i and i not in own)


def _attribute(a: onnx.AttributeProto) -> str:
    import onnx

    kinds = onnx.AttributeProto
    if a.type == kinds.GRAPH:
        return f"graph of {len(a.g.node)} nodes"
    if a.type == kinds.TENSOR:
        return _tensor_type(a.t)
    if a.type == kinds.STRING:
        return str(a.s.decode(errors="replace"))
    if a.type in (kinds.INT, kinds.FLOAT):
        return str(a.i) if a.type == kinds.INT else f"{a.f:g}"
    if a.type in (kinds.INTS, kinds.FLOATS):
        numbers: Sequence[float] = a.ints if a.type == kinds.INTS else a.floats
        return "[" + ", ".join(f"{v:g}" for v in numbers[:WRITTEN_OUT]) + (", …" * (len(numbers) > WRITTEN_OUT)) + "]"
    if a.type == kinds.STRINGS:
        return ", ".join(s.decode(errors="replace") for s in a.strings[:WRITTEN_OUT])
    return str(kinds.AttributeType.Name(a.type)).lower().replace("_", " ")


def _sorted(nodes: list[FileNode]) -> tuple[FileNode, ...]:
    """The nodes in the file's order, where that is a topological one."""
    maker = {o: k for k, n in enumerate(nodes) for o in n.outputs if o}
    before = {k: [maker[i] for i in n.inputs if i in maker] for k, n in enumerate(nodes)}
    if all(p < k for k, ps in before.items() for p in ps):
        return tuple(nodes)
    try:
        return tuple(nodes[k] for k in graphlib.TopologicalSorter(before).static_order())
    except graphlib.CycleError as error:
        names = [nodes[k].name for k in error.args[1]]
        text = f"The nodes {', '.join(map(repr, names[:4]))} read each other in a circle."
        raise ModelError("model.cycle", text, tuple(names[:4]), "export the model again") from None

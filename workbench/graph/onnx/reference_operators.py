"""Operators that this project does not lower: the onnx package infers their types and computes them, with NumPy.

They are never tuned and never fused. The task table and the profile list them as "not tunable".
"""

from __future__ import annotations

import functools
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.graph.graph import Array, AttrValue, Node, TensorType
from workbench.graph.model import Program
from workbench.graph.opdef import OpDef
from workbench.graph.opdef import foreign as foreign_operator
from workbench.graph.operator_call import Call
from workbench.graph.operator_facts import snake_case

if TYPE_CHECKING:
    import onnx

#: Operators that give another result each time.
RANDOM = (
    "Bernoulli",
    "Dropout",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
)
#: Domains that the onnx package has implementations of -> the module that lists them.
DOMAINS = {
    "": "onnx.reference.ops",
    "ai.onnx.ml": "onnx.reference.ops.aionnxml",
    "ai.onnx.preview.training": "onnx.reference.ops.aionnx_preview_training",
}
#: Newest version of the file format in which single nodes are handed over.
_IR_VERSION = 10


class Foreign(OpDef):
    """An operator by the reference implementation of the onnx package."""

    multi, native = True, False

    def __init__(self, domain: str, name: str) -> None:
        self.name, self.word, self._domain = name, snake_case(name), domain  # type: ignore[misc]
        self.random = name in RANDOM  # type: ignore[misc]

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        """Types of the outputs; `ModelError` "model.dynamic_shape" where a shape depends on what is computed."""
        import onnx
        from onnx import helper, numpy_helper, shape_inference

        if "captures" in c.node.attrs or any(isinstance(v, Program) for v in c.node.attrs.values()):
            raise c.error("unsupported_op", f"has a body, in a form that opset {c.version} has and that is not known")
        given = zip(c.node.inputs, c.types, c.values, strict=True)
        types, values = dict[str, Any](), dict[str, Any]()
        for name, t, v in given:
            if t is not None:
                types[name] = helper.make_tensor_type_proto(_code(t.dtype), t.shape)
            if v is not None:
                values[name] = numpy_helper.from_array(np.asarray(v), name)
        opsets = [helper.make_opsetid(self._domain, c.version)]
        schema = onnx.defs.get_schema(self.name, c.version, self._domain)
        try:
            found = shape_inference.infer_node_outputs(
                schema, to_proto(c.node), types, values, opset_imports=opsets, ir_version=_IR_VERSION
            )
        except Exception as e:
            raise c.error("shape_mismatch", f"does not fit its inputs: {_short(e)}") from None
        return tuple(self._type(c, name, found.get(name)) for name in _outputs(c.node))

    def keeps_slices(self, c: Call, i: int, axis: int, at: int) -> bool:
        return self.name == "Split" and not self._domain  # of the others nobody knows

    def _type(self, c: Call, name: str, proto: onnx.TypeProto | None) -> TensorType:
        kind = None if proto is None else proto.WhichOneof("value")
        if proto is not None and kind == "tensor_type" and proto.tensor_type.HasField("shape"):
            dims = proto.tensor_type.shape.dim
            if all(d.HasField("dim_value") for d in dims):
                return TensorType(tuple(d.dim_value for d in dims), _name(proto.tensor_type.elem_type))
        text = f"gives {name!r}, whose shape depends on values that are computed at run time"
        raise c.error(
            "dynamic_shape", text, "cut the model there; `wb.compile(graph)` compiles it for what a run brings"
        )

    def reference(self, c: Call, *args: Any) -> tuple[Array, ...]:
        """All outputs; `ModelError` "model.reference_failed" where the onnx package gives up."""
        feeds = {name: v for name, v in zip(c.node.inputs, args, strict=True) if name}
        try:
            found = evaluator(_brief(c, self._domain).SerializeToString(), self._domain, c.version).run(None, feeds)
        except Exception as e:
            what = f"cannot be computed by the reference implementation of the onnx package: {_short(e)}"
            raise c.error("reference_failed", what) from None
        return tuple(found)


@functools.cache
def foreign(domain: str, name: str, version: int) -> Foreign | None:
    """Operator of that name, where the onnx package both declares and computes it."""
    import onnx

    try:
        onnx.defs.get_schema(name, version, domain)
        import_module(f"{DOMAINS[domain]}._op_list").load_op(domain, name, version)
    except Exception:
        return None
    return Foreign(domain, name)


foreign_operator.provide(foreign)


@functools.lru_cache(maxsize=512)
def evaluator(node: bytes, domain: str, version: int) -> Any:
    """Evaluator of one serialised node."""
    import onnx
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(onnx.NodeProto.FromString(node), opsets={domain: version})


def to_proto(node: Node) -> onnx.NodeProto:
    """Node as the onnx package writes it."""
    from onnx import helper

    attrs = {k: _attribute(v) for k, v in node.attrs.items()}
    return helper.make_node(node.op, node.inputs, _outputs(node), name=node.name, domain=node.domain, **attrs)


def _brief(c: Call, domain: str) -> onnx.NodeProto:
    """A node without attributes that say what is assumed anyway: some implementations do not know the newest."""
    import onnx

    declared = onnx.defs.get_schema(c.node.op, c.version, domain).attributes
    proto = to_proto(c.node)
    kept = [a for a in proto.attribute if a.name not in declared or a != declared[a.name].default_value]
    del proto.attribute[:]
    proto.attribute.extend(kept)
    return proto


def _outputs(node: Node) -> tuple[str, ...]:
    """Names of the outputs up to the last that is used, unused ones too: results are told apart by position."""
    last = max((k for k, o in enumerate(node.outputs) if o), default=0)
    return tuple(o or f"unused.{k}" for k, o in enumerate(node.outputs[: last + 1]))


def _attribute(value: AttrValue) -> Any:
    from onnx import numpy_helper

    return numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value


def _code(dtype: str) -> int:
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _name(code: int) -> str:
    from onnx import helper

    return str(np.dtype(helper.tensor_dtype_to_np_dtype(code)).name)


def _short(e: Exception) -> str:
    text = str(e).strip().splitlines()
    return re.sub(r"^\[\w+\] ", "", text[0]).rstrip(".") if text else type(e).__name__

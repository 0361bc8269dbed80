"""Types and values of one node, and whether it can become a kernel; what an operator cannot take names the node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.codegen.runtime_kernels.declaration import KernelFunction
from workbench.errors import ModelError, WorkbenchError
from workbench.graph.graph import Array, TensorType
from workbench.graph.opdef import foreign, opdef
from workbench.graph.operator_call import Call
from workbench.graph.size_limits import check_types
from workbench.ir.dtypes import BFLOAT16

#: Attribute of a node: the element type in which its results are stored, which it computes in float32.
STORED = "stored"
#: Attribute of a node: the element type that its results, which stay float32, are rounded to.
ROUNDED = "rounded"

#: What NumPy and Python raise about numbers that make no sense.
_NONSENSE = (ArithmeticError, IndexError, TypeError, ValueError)


def infer(c: Call) -> tuple[TensorType, ...]:
    """Types of a node's outputs.

    Raises
    ------
    ModelError
        "model.invalid_graph" where its numbers make no sense, "model.too_large", and what the operator finds.
    """
    try:
        found = tuple(TensorType(t.shape, stored_as(c, t.dtype)) for t in opdef(c.node).infer(c.wide))
        check_types(c, found)
        return found
    except WorkbenchError:
        raise
    except _NONSENSE as e:
        raise c.error("invalid_graph", f"does not fit its inputs: {e}", "look at its attributes and shapes") from e


def stored_as(c: Call, dtype: str) -> str:
    """Element type in which a node's results are kept that it computes in another.

    Results in float32 are kept as the attribute `STORED` says, which only the pass `bfloat16` writes, and as the inputs
    are without it.
    """
    if dtype != "float32":
        return dtype
    halved = c.wide is not c and not opdef(c.node).converts
    return c.get_str(STORED, BFLOAT16.name if halved else dtype)


def evaluate(c: Call, *args: Any) -> tuple[Any, ...]:
    """Outputs of a node, computed by its operator's reference: arrays, and lists and None for what is no tensor.

    Raises
    ------
    ModelError
        "model.bad_value" for inputs that the operator cannot take, "model.too_large", "model.reference_failed".
    """
    op = opdef(c.node)
    if not op.multi and any(isinstance(a, list) for a in args):  # a sequence: only the onnx package knows those
        op = foreign(c.node.domain, c.node.op, c.node.version) or op
    empty = _empty(c)
    if empty:
        return empty
    try:
        with np.errstate(all="ignore"):  # infinities and NaN are results like others
            found: Any = op.reference(c.wide, *(_widened(c, a) for a in args))
    except WorkbenchError:
        raise
    except _NONSENSE as e:
        raise c.error("bad_value", f"cannot be computed from what it is given: {e}", "look at its inputs") from e
    except MemoryError as e:
        raise c.error("too_large", "would give a result that there is no memory for", "look at its inputs") from e
    every = found if isinstance(found, tuple) else (found,)
    halves = "float16" in widened_types(c) and any(t is not None and t.dtype == "float16" for t in c.types)
    kinds = [t.dtype for t in infer(c)] if halves else [""] * len(every)
    return tuple(
        v if isinstance(v, list) or v is None else _kept(c, np.asarray(v), kind)
        for v, kind in zip(every, kinds, strict=False)
    )


def widened_types(c: Call) -> tuple[str, ...]:
    """Element types that a node converts to float32 as it reads them.

    Sums of many float16 numbers stop growing, and squares of them are soon infinite.
    """
    return ("bfloat16", "float16") if opdef(c.node).fusion in ("complex", "reduction") else ("bfloat16",)


def _widened(c: Call, value: Any) -> Any:
    narrow = isinstance(value, np.ndarray) and value.dtype.name in widened_types(c)
    return value.astype(np.float32) if narrow else value


def _kept(c: Call, value: Array, kind: str) -> Array:
    kind = kind or stored_as(c, value.dtype.name)
    value = value if kind == value.dtype.name else value.astype(kind)  # the names of text types are no types
    rounded = c.get_str(ROUNDED, "")
    return value.astype(rounded).astype(value.dtype) if rounded else value


def _empty(c: Call) -> tuple[Array, ...]:
    """Results of a node where neither it is given any element nor makes any; none otherwise."""
    if all(t is None or t.size for t in c.types):
        return ()
    try:
        types = infer(c)
    except ModelError:
        return ()
    return () if any(t.size for t in types) else tuple(np.empty(t.shape, t.dtype) for t in types)


def kernel_function(c: Call) -> KernelFunction | None:
    """The runtime kernel that computes a node; None where none does, as for what is rounded to bfloat16."""
    return opdef(c.node).kernel(c) if c.wide is c and not {STORED, ROUNDED} & c.node.attrs.keys() else None


def obstacle(c: Call, outs: Sequence[TensorType]) -> str:
    """Why a node cannot become (part of) a kernel; "" where it can."""
    op = opdef(c.node)
    if kernel_function(c) is None:
        if found := op.obstacle(c.wide):
            return found
        if any(c.node.outputs[1:]):
            return "more than one result"
    tensors = [t for i, t in enumerate(c.types) if i not in op.parameters or c.values[i] is None]
    return "a tensor without elements" if any(t is not None and not t.size for t in (*tensors, *outs)) else ""

"""What TVM's users write beside `placeholder` and `compute`: it works, or says what to write here."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from workbench.arguments import is_a
from workbench.errors import ExpressionError
from workbench.ir import Affine, Binary, Load
from workbench.te.expression import Axes, reduction, select
from workbench.te.value import Reduction, Scalar, Tensor, Value

#: What schedules stage by stage; it lies above this room.
STAGES = "workbench.schedule.stages"
_FOLDS = {"add": "te.sum", "mul": "te.prod", "max": "te.max", "min": "te.min"}


def create_schedule(outputs: Tensor | Sequence[Tensor], target: Any = None) -> Any:
    """Schedule what `outputs` (or their ``op``) depend on, stage by stage: ``s[C].split(axis, factor=8)``."""
    return importlib.import_module(STAGES).StagedSchedule.of(outputs, target)


def var(name: str = "n", dtype: str = "int32") -> NoReturn:
    """Refuse a length that is open: here every length is a number.

    Raises
    ------
    ExpressionError
        "te.var".
    """
    text = f"The length {name!r} has to be a number: tensor expressions have fixed shapes."
    hint = "write the number; a network with open dimensions is compiled for each shape: wb.load_onnx, wb.compile"
    raise ExpressionError("te.var", text, (str(name),), hint)


size_var = var
if_then_else = select


def thread_axis(dom: Any = None, tag: str = "") -> str:
    """Name what runs a loop on a device: ``s[C].bind(i, te.thread_axis("threadIdx.x"))``; it has the loop's length."""
    return is_a("the tag", tag or dom, str, 'te.thread_axis("threadIdx.x")')


def comm_reducer(
    fcombine: Callable[[Any, Any], Any], fidentity: Callable[[str], Any] | None = None, name: str = "reduce"
) -> Callable[[Scalar, Axes], Reduction]:
    """Make a reduction of a function that combines two values: a sum, product, maximum or minimum.

    Raises
    ------
    ExpressionError
        "te.comm_reducer" for any other function, and for pairs of values.
    """
    a, b = (Value(Load(n, (Affine(),)), "float32") for n in ("a", "b"))
    found = getattr(fcombine(a, b), "expr", None)
    if not (isinstance(found, Binary) and found.op in _FOLDS and {found.a, found.b} == {a.expr, b.expr}):
        text = f"The reduction {name!r} is no sum, product, maximum or minimum of two single values."
        hint = f"there are {', '.join(_FOLDS.values())}; for the place of a maximum: te.max, then te.min of its places"
        raise ExpressionError("te.comm_reducer", text, (name,), hint)
    op = found.op
    return lambda expr, axis: reduction(op, expr, axis)

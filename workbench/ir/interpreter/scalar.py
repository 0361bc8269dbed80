"""Arithmetic of single elements in the interpreter: IEEE results where Python raises, wrapping where it grows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.errors import RunError
from workbench.ir.dtypes import is_float


def _axis_error(block: str) -> None:
    raise RunError("interp.axis", f"An axis of block {block!r} leaves its extent.", (block,))


def _index_error(what: str, buffer: str) -> None:
    raise RunError("interp.index", f"The index of {what} leaves buffer {buffer!r}.", (buffer,))


def _safe(fn: Callable[[float], float], invalid: float, overflow: float = math.inf) -> Callable[[float], float]:
    """Give a math function IEEE results where Python raises."""

    def call(x: float) -> float:
        try:
            return fn(x)
        except OverflowError:
            return overflow
        except ValueError:
            return invalid

    return call


def _div(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b)
    return a / b


def _int_div(a: int, b: int) -> int:
    """Quotient towards zero, as in C; 0 for a zero divisor."""
    return 0 if b == 0 else (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)


def _max(a: float, b: float) -> float:
    return a if a != a or a > b else b


def _min(a: float, b: float) -> float:
    return a if a != a or a < b else b


def _pow(a: float, b: float) -> float:
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:
        # A negative number to a fraction, or zero to a negative number.
        return math.nan if a else math.copysign(math.inf, a) if b % 2 == 1 else math.inf


def _sigmoid(x: float) -> float:
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    e = math.exp(x)
    return e / (1.0 + e)


def _whole(fn: Callable[[float], int]) -> Callable[[float], float]:
    """Round to a float that keeps its sign when it becomes 0."""
    return lambda x: math.copysign(fn(x), x) if math.isfinite(x) else x


def _log(x: float) -> float:
    return -math.inf if x == 0 else math.nan if x < 0 else math.log(x)


def _cast(x: Any, dtype: str) -> Any:
    if dtype == "float64":
        return float(x)
    if is_float(dtype):
        with np.errstate(over="ignore"):
            return float(np.dtype(dtype).type(x))
    if dtype == "bool":
        return bool(x)
    if isinstance(x, float):
        # Floats saturate, integers wrap.
        info = np.iinfo(dtype)
        return 0 if x != x else int(min(max(x, info.min), info.max))
    bits = np.dtype(dtype).itemsize * 8
    value = int(x) & ((1 << bits) - 1)
    return value - (1 << bits) if dtype.startswith("int") and value >> (bits - 1) else value


def _pick(value: int, extent: int) -> int:
    """The nearest whole number from 0 to below the extent."""
    return min(max(value, 0), extent - 1)


#: What the generated Python may call.
HELPERS: dict[str, Any] = {
    "_axis": _axis_error,
    "_index": _index_error,
    "_product": itertools.product,
    "_pick": _pick,
    "_cast": _cast,
    "_neg": lambda x: -x,
    "_abs": abs,
    "_not": lambda x: not x,
    "_exp": _safe(math.exp, math.nan),
    "_log": _log,
    "_sqrt": _safe(math.sqrt, math.nan),
    "_rsqrt": lambda x: _div(1.0, math.sqrt(x)) if x >= 0 else math.nan,
    "_tanh": math.tanh,
    "_erf": math.erf,
    "_sigmoid": _sigmoid,
    "_floor": _whole(math.floor),
    "_ceil": _whole(math.ceil),
    "_round": _whole(round),
    "_div": _div,
    "_idiv": _int_div,
    "_max": _max,
    "_min": _min,
    "_pow": _pow,
    "_mod": lambda a, b: math.nan if b == 0 or not math.isfinite(a) else a % b,
    "_imod": lambda a, b: a % b if b else 0,
    "_where": lambda c, a, b: a if c else b,
}

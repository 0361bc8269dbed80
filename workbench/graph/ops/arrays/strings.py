"""Operators on texts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from workbench.graph.graph import Array, TensorType
from workbench.graph.opdef import OpDef, operator
from workbench.graph.operator_call import Call

_CASES: dict[str, Callable[[str], str]] = {"NONE": str, "LOWER": str.lower, "UPPER": str.upper}


@operator("StringNormalizer", "opaque")
class StringNormalizer(OpDef):
    """Texts without stop words, in one case; one empty text where none is left."""

    def infer(self, c: Call) -> tuple[TensorType, ...]:
        raise c.error("dynamic_shape", "gives as many texts as its values at run time leave")

    def reference(self, c: Call, x: Array) -> Array:
        action = c.get_str("case_change_action", "NONE")
        if action not in _CASES:
            raise c.error("unsupported_attr", f"changes the case by {action!r}, which is not known")
        stop = c.node.attrs.get("stopwords", ())
        same = _CASES["NONE" if c.get_int("is_case_sensitive", 0) else "LOWER"]
        words = {same(str(s)) for s in stop} if isinstance(stop, tuple) else set()
        kept = [_CASES[action](str(t)) for t in x.reshape(-1) if same(str(t)) not in words]
        return np.array(kept or [""], object).reshape((1, -1) if x.ndim == 2 else -1)

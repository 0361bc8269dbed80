"""What the layers above lend to `Schedule`: building, measuring, and the nest as rows of a table.

`schedule` lies below `runtime` and `analysis` and does not import them; these services are named here and loaded when
first asked for. This is the only reference upwards in the package.
"""

from __future__ import annotations

from typing import Any

from workbench.first_use import imported
from workbench.ir import Func

_PROVIDER = "workbench.runtime.schedule_methods"
_ANALYSIS = "workbench.analysis"


def call(service: str, func: Func, original: Func, target: object, options: dict[str, Any]) -> Any:
    """Call ``build`` or ``measure`` for `func`; `original` is the function before any primitive."""
    return getattr(imported(_PROVIDER), service)(func, original, target, **options)


def nest(func: Func, target: object, limit: int) -> dict[str, Any]:
    """Describe the first `limit` rows of a nest, as ``NestView.to_json()`` has them."""
    rows: dict[str, Any] = imported(_ANALYSIS).nest_rows(func, target, limit).to_json()
    return rows

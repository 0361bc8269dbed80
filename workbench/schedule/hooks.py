"""What the layers above lend to `Schedule`: building and measuring.

`schedule` lies below `runtime` and does not import it; the two services are named here and loaded when first asked for.
This is the only reference upwards in the package.
"""

from __future__ import annotations

import importlib
from typing import Any

from ..ir.func import Func

_PROVIDER = "workbench.runtime.services"


def call(service: str, func: Func, original: Func, target: object, options: dict[str, Any]) -> Any:
    """Call ``build`` or ``measure`` for `func`; `original` is the function before any primitive."""
    return getattr(importlib.import_module(_PROVIDER), service)(func, original, target, **options)

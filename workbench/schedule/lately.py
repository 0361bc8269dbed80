"""What steps made of functions lately: who tries a step and then takes it gets the same function, and whatever is known
of that one by then.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..ir.func import Func
    from .primitive import Applied, Primitive

KEPT = 8

_lock = threading.Lock()
# The function that a step was taken on is held, so that its id stays its own.
_table: OrderedDict[tuple[int, type[Primitive], str], tuple[Func, Applied]] = OrderedDict()


def run(step: Primitive, func: Func) -> Applied:
    """Return what `step` makes of `func`; raises what `Primitive.run` does."""
    key = (id(func), type(step), repr(step))  # equal numbers of different types are different steps
    with _lock:
        if (hit := _table.get(key)) is not None:
            _table.move_to_end(key)
            return hit[1]
    made = step.run(func)
    with _lock:
        _table[key] = (func, made)
        while len(_table) > KEPT:
            _table.popitem(last=False)
    return made

"""What steps made of functions lately: who tries a step and then takes it gets the same function, and whatever is known
of that one by then.
"""

from __future__ import annotations

import threading
from collections import OrderedDict

from workbench.ir import Func
from workbench.ir.func import Same
from workbench.schedule.primitive import Applied, Primitive

#: Results of steps; chosen: more than a person tries before taking one.
KEPT = 8


class Lately:
    """The last few steps that were taken on a schedule or a branch of it, which have one between them."""

    __slots__ = ("_lock", "_table")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Equal numbers of different types are different steps, so it is their text that counts.
        self._table: OrderedDict[tuple[Same, type[Primitive], str], Applied] = OrderedDict()

    def run(self, step: Primitive, func: Func) -> Applied:
        """Return what `step` makes of `func`; raises what `Primitive.run` does."""
        key = (Same(func), type(step), repr(step))
        with self._lock:
            if (hit := self._table.get(key)) is not None:
                self._table.move_to_end(key)
                return hit
        made = step.run(func)
        with self._lock:
            self._table[key] = made
            while len(self._table) > KEPT:
                self._table.popitem(last=False)
        return made

"""Code that was built lately, so that what was measured need not be built again for a comparison."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from workbench.runtime.measuring.jobs import Built
from workbench.runtime.workers.batch import MeasureInput

if TYPE_CHECKING:
    from workbench.ir import Func

#: Bytes that are kept: object code, and the functions that it is found by, which take more.
#: Chosen, not measured.
_KEPT_BYTES, _FUNC_BYTES = 64 << 20, 16 << 10


class RecentBuilds:
    """Code that was built lately, by function."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Func, str], Built] = OrderedDict()
        self._bytes = 0

    def get(self, item: MeasureInput) -> Built | None:
        """What was built for this candidate, if it is still there."""
        try:
            built = self._kept.get((item.func, item.symbol))
        except (TypeError, RecursionError):  # not a function, or nested too deep: the builder is going to say so
            return None
        if built is not None:
            self._kept.move_to_end((item.func, item.symbol))
        return built

    def put(self, item: MeasureInput, built: Built) -> None:
        """Keep a candidate's code; what was not asked for longest gives way."""
        try:
            before = self._kept.pop((item.func, item.symbol), None)
        except RecursionError:  # nested so deep that it can be built, but not be looked up
            return
        self._bytes += _size(built) - (0 if before is None else _size(before))
        self._kept[item.func, item.symbol] = built
        while self._bytes > _KEPT_BYTES:
            _, old = self._kept.popitem(last=False)
            self._bytes -= _size(old)


def _size(built: Built) -> int:
    return _FUNC_BYTES + (0 if built.code is None else len(built.code.object))

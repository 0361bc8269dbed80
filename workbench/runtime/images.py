"""Code that was built lately, so that what was measured need not be built again for a comparison."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from workbench.runtime.batch import MeasureInput
from workbench.runtime.results import Built

if TYPE_CHECKING:
    from workbench.ir.func import Func

#: Bytes of object code that are kept.
_KEPT_BYTES = 32 << 20


class Images:
    """Code that was built lately, by function."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Func, str], Built] = OrderedDict()
        self._bytes = 0

    def get(self, item: MeasureInput) -> Built | None:
        """What was built for this candidate, if it is still there."""
        try:
            built = self._kept.get((item.func, item.symbol))
        except TypeError:  # not a function: the builder is going to say so
            return None
        if built is not None:
            self._kept.move_to_end((item.func, item.symbol))
        return built

    def put(self, item: MeasureInput, built: Built) -> None:
        """Keep a candidate's code; what was not asked for longest gives way."""
        assert built.image is not None
        before = self._kept.pop((item.func, item.symbol), None)
        if before is not None and before.image is not None:
            self._bytes -= len(before.image.code)
        self._kept[item.func, item.symbol] = built
        self._bytes += len(built.image.code)
        while self._bytes > _KEPT_BYTES:
            _, old = self._kept.popitem(last=False)
            assert old.image is not None
            self._bytes -= len(old.image.code)

"""Makes many values at once."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_MANY = 100_000
"""Values from which on they count as old at once. Chosen: looking at them takes some tens of milliseconds."""


@contextmanager
def many_values() -> Iterator[None]:
    """Make values that stay without looking for circles among them meanwhile, which takes as long again.

    Many of them are passed over by the next looks at what is new, too.
    """
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            if gc.get_count()[0] > _MANY and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()  # to the oldest ones
            gc.enable()

"""Values that are kept in memory in little room: packed by the thousand, unpacked when asked for."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

BATCH = 4096
"""Values that are packed together. Chosen: they fit into the caches, and unpacking one of them does not take long."""


class Packed:
    """A list to which values are added by the batch: parameters, counters, raw records, as JSON has them.

    Parameters
    ----------
    values : sequence
        The first ones, whole batches of them.
    """

    def __init__(self, values: Sequence[Any] = ()) -> None:
        self._packs: list[bytes | list[Any]] = []
        self._recent: tuple[int, list[Any]] = (-1, [])
        for start in range(0, len(values), BATCH):
            self.add(values[start : start + BATCH])

    def add(self, values: Sequence[Any]) -> None:
        """Take in `BATCH` values, or fewer with the last call."""
        try:
            self._packs.append(zlib.compress(json.dumps(list(values)).encode(), 1))
        except (TypeError, ValueError, RecursionError):  # a date of a Parquet file, and others that JSON does not have
            self._packs.append(list(values))

    def __getitem__(self, place: int) -> Any:
        return self._pack(place // BATCH)[place % BATCH]

    def get(self, places: npt.NDArray[np.int64]) -> list[Any]:
        """Return the values at some places, in their order."""
        out: list[Any] = [None] * len(places)
        packs = places // BATCH
        for number in np.unique(packs).tolist():
            pack, at = self._pack(number), np.flatnonzero(packs == number)
            for place, inside in zip(at.tolist(), (places[at] % BATCH).tolist(), strict=True):
                out[place] = pack[inside]
        return out

    def _pack(self, number: int) -> list[Any]:
        pack = self._packs[number]
        if isinstance(pack, list):
            return pack
        if self._recent[0] != number:
            self._recent = number, json.loads(zlib.decompress(pack))
        return self._recent[1]

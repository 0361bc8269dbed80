"""A column whose values stay in the file until somebody asks for them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt
from pandas.api.extensions import ExtensionArray, ExtensionDtype

from workbench.logs.table.columns import Numbers, Whole

AT_ONCE = 4096
"""Values that are read together where all are asked for one after the other. Chosen: some megabytes of lines."""


class Values(Protocol):
    """Where the values of a column are."""

    def get(self, places: Whole) -> list[Any]:
        """Return the values at some places, in their order."""


class Listed:
    """Values that are there."""

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = list(values)

    def get(self, places: Whole) -> list[Any]:
        """Return the values at some places, in their order."""
        return [self.values[place] for place in places.tolist()]


class Repeats:
    """The repeats of each record, as tuples of numbers."""

    def __init__(self, values: Numbers, ends: Whole) -> None:
        self.values, self.ends = values, ends

    def get(self, places: Whole) -> list[Any]:
        """Return the repeats at some places, in their order."""
        starts = np.where(places > 0, self.ends[places - 1], 0)
        both = zip(starts.tolist(), self.ends[places].tolist(), strict=True)
        return [tuple(self.values[start:end].tolist()) for start, end in both]


class LineNames:
    """``line 12`` of each record."""

    def __init__(self, lines: Whole) -> None:
        self.lines = lines

    def get(self, places: Whole) -> list[Any]:
        """Return the names of lines at some places, in their order."""
        return [f"line {line}" for line in self.lines[places].tolist()]


class Chained:
    """Values of several places, one after the other; `starts` says where each begins, and where the last one ends."""

    def __init__(self, parts: Sequence[Values], starts: Sequence[int]) -> None:
        self.parts, self.starts = list(parts), np.array(starts, dtype=np.int64)

    def get(self, places: Whole) -> list[Any]:
        """Return the values at some places, in their order."""
        which = np.searchsorted(self.starts, places, side="right") - 1
        out: list[Any] = [None] * len(places)
        for part in np.unique(which).tolist():
            at = np.flatnonzero(which == part)
            for place, value in zip(at.tolist(), self.parts[part].get(places[at] - self.starts[part]), strict=True):
                out[place] = value
        return out


class LazyDtype(ExtensionDtype):
    """The type of a column whose values are read when asked for: any that JSON has, or a tuple of numbers."""

    name = "lazy"
    kind = "O"
    type: ClassVar[builtins.type[Any]] = object

    @property
    def na_value(self) -> None:
        """What stands where there is no record."""
        return

    @classmethod
    def construct_array_type(cls) -> builtins.type[LazyArray]:
        """Return the array of this type."""
        return LazyArray


class LazyArray(ExtensionArray):
    """Values by their places; what pandas selects, orders and copies is the places alone.

    Parameters
    ----------
    values : Values
        Where the values are.
    places : array of int
        Place of each element; -1 for none.
    """

    def __init__(self, values: Values, places: Whole) -> None:
        self._values, self._places = values, places

    @classmethod
    def _from_sequence(cls, scalars: Sequence[Any], *, dtype: Any = None, copy: bool = False) -> Self:
        return cls(Listed(scalars), np.arange(len(scalars), dtype=np.int64))

    @classmethod
    def _from_factorized(cls, values: Any, original: Any) -> Self:
        return cls._from_sequence(values)

    @property
    def dtype(self) -> LazyDtype:
        """The type."""
        return LazyDtype()

    @property
    def nbytes(self) -> int:
        """Bytes of the places."""
        return int(self._places.nbytes)

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, int | np.integer):
            return self._get(self._places[item : item + 1 or None])[0] if -len(self) <= item < len(self) else _outside()
        if isinstance(item, list) or hasattr(item, "dtype"):
            item = np.asarray(item)
            item = item.astype(bool if item.dtype == object or item.dtype == bool else np.int64)
        return type(self)(self._values, self._places[item])

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self), AT_ONCE):
            yield from self._get(self._places[start : start + AT_ONCE])

    def _get(self, places: Whole) -> list[Any]:
        there = places >= 0
        if there.all():
            return self._values.get(places)
        out: list[Any] = [None] * len(places)
        for at, value in zip(np.flatnonzero(there).tolist(), self._values.get(places[there]), strict=True):
            out[at] = value
        return out

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        out = np.empty(len(self), dtype=object)
        for at, value in enumerate(self):
            out[at] = value  # a tuple is one value
        return out

    def to_numpy(self, dtype: Any = None, copy: bool = False, na_value: Any = None) -> npt.NDArray[Any]:
        """Return all values, as objects."""
        return self.__array__()

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """Return the values as another type; this one stays what it is."""
        return self.copy() if isinstance(dtype, LazyDtype) else super().astype(dtype, copy)

    def isna(self) -> npt.NDArray[np.bool_]:
        """Where there is no record."""
        return self._places < 0

    def take(self, indices: Any, *, allow_fill: bool = False, fill_value: Any = None) -> Self:
        """Return the elements at some places; -1 is none where `allow_fill` says so."""
        at = np.asarray(indices, dtype=np.int64)
        if not allow_fill:
            return type(self)(self._values, self._places[at])
        if len(at) and (at.min() < -1 or at.max() >= len(self)):
            raise IndexError("out of bounds") if at.min() >= -1 else ValueError("indices below -1")
        if not len(self):
            return type(self)(self._values, np.full(len(at), -1, dtype=np.int64))
        return type(self)(self._values, np.where(at < 0, -1, self._places[at]))

    def copy(self) -> Self:
        """Return the same values; the places are copied."""
        return type(self)(self._values, self._places.copy())

    @classmethod
    def _concat_same_type(cls, to_concat: Sequence[Self]) -> Self:
        parts = list(to_concat)
        places = np.concatenate([part._places for part in parts])
        if all(part._values is parts[0]._values for part in parts):
            return cls(parts[0]._values, places)
        sizes = [int(part._places.max(initial=-1)) + 1 for part in parts]
        starts = np.cumsum([0, *sizes]).tolist()
        shifted = [np.where(p._places < 0, -1, p._places + start) for p, start in zip(parts, starts, strict=False)]
        return cls(Chained([part._values for part in parts], starts), np.concatenate(shifted))

    def _formatter(self, boxed: bool = False) -> Callable[[Any], str]:
        return str


def _outside() -> Any:
    raise IndexError("out of bounds")

"""Under which conditions kernels were timed, and which times can therefore not be compared with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench.log.similar_tasks import differences
from workbench.runtime.results.measure_options import FLUSHED, FOUND, WARM

if TYPE_CHECKING:
    from workbench.log.record import Record

CACHES: Mapping[str, str] = MappingProxyType(
    {"near": "warm", "shared": "constants shared", "memory": "constants in memory"}
)
"""State of the caches as the log names it, by where a kernel finds its constants (`MeasureOptions.constants`)."""


def found_in(caches: str, constants: bool = True) -> str:
    """Say what a kernel found in the caches, in the words of `Measurement.caches`; "" where a log does not say so.

    Parameters
    ----------
    constants : bool
        Whether it has any.
    """
    if caches == "flushed":
        return FLUSHED
    return "" if caches not in CACHES.values() else FOUND[constants_in(caches)] if constants else WARM


def constants_in(caches: str) -> str:
    """Return where kernels found their constants; "near" where a log does not say so."""
    return next((where for where, name in CACHES.items() if name == caches), "near")


class Conditions:
    """Under which conditions the trials of a log were timed."""

    def __init__(self) -> None:
        self._targets: dict[str, None] = {}
        self._caches: Counter[str] = Counter()
        self._hosts: dict[tuple[str, str], None] = {}

    def take(self, target: str, host: str, caches: str, ok: bool) -> None:
        """Take note of a trial."""
        self._targets[target] = None
        if ok:
            self._caches[caches or "not told"] += 1
        if host:
            self._hosts[host, target] = None

    def mixed(self) -> list[str]:
        """Say which of the trials cannot be compared with each other."""
        out = []
        first, *others = self._targets or [""]
        if others:
            apart = differences(others[0], first)
            out.append(f"trials of {len(self._targets)} targets are in this log; each is ranked by itself ({apart})")
        if len(self._caches) > 1:
            parts = ", ".join(f"{count} {name}" for name, count in self._caches.most_common())
            out.append(f"trials found different things in the caches ({parts}): their latencies are not comparable")
        if len(self._hosts) > len({target for _, target in self._hosts}):
            machines = ", ".join(sorted({host for host, _ in self._hosts}))
            out.append(
                f"trials of one target come from several machines ({machines}): their latencies may differ by machine"
            )
        return out


def mixed(records: Iterable[Record]) -> list[str]:
    """Say which of some trials cannot be compared with each other."""
    found = Conditions()
    for record in records:
        found.take(record.target, record.host, record.caches, record.ok)
    return found.mixed()


def unlike(caches: str, records: Iterable[Record]) -> str:
    """Say that trials were timed with other things in the caches than what is measured by hand; "" where none was."""
    others = Counter(r.caches for r in records if r.ok and r.caches not in ("", caches))
    if not others:
        return ""
    parts = ", ".join(f"{count} {name}" for name, count in others.most_common())
    return f"trials of the log found other things in the caches ({parts}) than what is measured here ({caches})"

"""Under which conditions kernels were timed, and which times can therefore not be compared with each other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from workbench.log.similar_tasks import differences

if TYPE_CHECKING:
    from workbench.log.record import Record

CACHES: Mapping[str, str] = MappingProxyType(
    {"near": "warm", "shared": "constants shared", "memory": "constants in memory"}
)
"""State of the caches as the log names it, by where a kernel finds its constants (`MeasureOptions.constants`)."""


def constants_in(caches: str) -> str:
    """Return where kernels found their constants; "near" where a log does not say so."""
    return next((where for where, name in CACHES.items() if name == caches), "near")


def mixed(records: Sequence[Record]) -> list[str]:
    """Say which of some trials cannot be compared with each other."""
    out = []
    targets = list(dict.fromkeys(r.target for r in records))
    if len(targets) > 1:
        apart = differences(targets[1], targets[0])
        out.append(f"trials of {len(targets)} targets are in this log; each is ranked by itself ({apart})")
    caches = Counter(r.caches or "not told" for r in records if r.ok)
    if len(caches) > 1:
        parts = ", ".join(f"{count} {name}" for name, count in caches.most_common())
        out.append(f"trials found different things in the caches ({parts}): their latencies are not comparable")
    hosts = {(r.host, r.target) for r in records if r.host}
    if len(hosts) > len({target for _, target in hosts}):
        machines = ", ".join(sorted({host for host, _ in hosts}))
        out.append(
            f"trials of one target come from several machines ({machines}): their latencies may differ by machine"
        )
    return out


def unlike(caches: str, records: Iterable[Record]) -> str:
    """Say that trials were timed with other things in the caches than what is measured by hand; "" where none was."""
    others = Counter(r.caches for r in records if r.ok and r.caches not in ("", caches))
    if not others:
        return ""
    parts = ", ".join(f"{count} {name}" for name, count in others.most_common())
    return f"trials of the log found other things in the caches ({parts}) than what is measured here ({caches})"

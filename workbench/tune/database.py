"""The best records of one or more logs, looked up by task and target."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from workbench.tune.log import load_log
from workbench.tune.record import Record


def compatible(recorded: str, wanted: str | None) -> bool:
    """Whether a schedule tuned for target text `recorded` may be used for `wanted`.

    A schedule stays legal (though perhaps not the best) when only threads and cache sizes differ; the vector extensions
    and the architecture have to agree.
    """
    return wanted is None or recorded == wanted or essence(recorded) == essence(wanted)


def essence(target: str) -> frozenset[str]:
    """Return what a schedule depends on in a target's text form; the CPU counts only where extensions are not told."""
    words = target.split()
    told = any(word.startswith("-mattr=") for word in words)
    loose = ("-threads=", "-l1=", "-l2=", "-l3=", "-line=", *(("-mcpu=",) if told else ()))
    return frozenset(word for word in words if not word.startswith(loose))


class Database:
    """Records grouped by task, best first.

    Parameters
    ----------
    records : iterable of Record
        Only the successful ones are kept.
    """

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._by_task: dict[str, list[Record]] = {}
        for record in records:
            self.add(record)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Database:
        """Read a log; see `workbench.tune.log.load_log` for what can go wrong."""
        return cls(load_log(path).records)

    def add(self, record: Record) -> None:
        """Take a record in; failed trials are ignored."""
        if record.ok:
            self._by_task.setdefault(record.task_key, []).append(record)

    def __len__(self) -> int:
        return len(self._by_task)

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_task)

    def top(self, task_key: str, k: int, target: str | None = None) -> list[Record]:
        """Return up to `k` different programs of a task, fastest first.

        Those tuned for exactly `target` come first, and among them those timed as in a network: other latencies cannot
        be compared with theirs.
        """
        found = [r for r in self._by_task.get(task_key, ()) if compatible(r.target, target)]
        found.sort(
            key=lambda r: (target is not None and r.target != target, not r.as_in_network, r.latency_ms, r.trial)
        )
        seen: set[str] = set()
        out: list[Record] = []
        for record in found:
            name = record.key or f"{record.variant}:{sorted(record.row.items())}:{record.trace}"
            if name not in seen:
                seen.add(name)
                out.append(record)
        return out[:k]

    def best(self, task_key: str, target: str | None = None) -> Record | None:
        """Return the fastest record of a task, or None."""
        found = self.top(task_key, 1, target)
        return found[0] if found else None

"""How busy this machine is, and with what: this kernel, the browser, or other programs."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workbench.host import load_average
from workbench.safe_text import legible_line

#: What the processes of browsers are called, from the beginning; those that these start are the browser's, too.
BROWSERS = (
    "chrom", "google-chrome", "headless_shell", "firefox", "firefox-bin", "librewolf", "msedge", "microsoft-edge",
    "brave", "opera", "vivaldi", "safari", "webkit", "epiphany", "WebKitWebProces", "Isolated Web Co", "Web Content",
)  # fmt: skip

#: Below this part of the processors' time nobody is told apart: the system itself takes some.
#: Chosen, not measured.
QUIET = 0.12

#: Looks that are closer together, or further apart, in seconds, say nothing of now.
#: Chosen, not measured: the accounts tick every 10 ms.
SHORTEST_S, LONGEST_S = 0.5, 5.0


_WHOSE = {"kernel": "this kernel", "browser": "browser", "other": "other programs", "stolen": "other virtual machines"}
_DOES = (
    "A kernel needs a core for each of its threads: what others disturb is shown as ≥, and measured again when the"
    " machine is quiet"
)


@dataclass(frozen=True, slots=True)
class Load:
    """What the processors did between two looks, as parts of the time of all of them together.

    Attributes
    ----------
    busy : float
        All of it, stolen time too.
    kernel : float or None
        This process and those that it has started; None where the system does not tell whose the load is.
    browser, other : float or None
        Web browsers, and all other programs.
    stolen : float
        What the host of a virtual machine took away.
    largest : str
        The program that has most of `other`; empty where there is none that stands out.
    """

    busy: float
    kernel: float | None = None
    browser: float | None = None
    other: float | None = None
    stolen: float = 0.0
    largest: str = ""

    @property
    def kind(self) -> str:
        """What has the largest part: "kernel", "browser", "other" or "stolen"; "" on a quiet machine, "load" where
        nobody knows.
        """
        if self.busy < QUIET:
            return ""
        if self.other is None:
            return "load"
        parts = self._parts()
        return max(parts, key=lambda kind: parts[kind])

    def leaves(self, threads: int) -> bool:
        """Whether so many threads find a core each."""
        cores = os.cpu_count() or 1
        return cores * (1.0 - self.busy) >= min(threads, cores) - cores * QUIET

    def taken_from(self, threads: int) -> str:
        """Say who had a part of the cores that so many threads of this kernel need; "" where they had theirs, and where
        nobody knows.
        """
        if self.other is None:
            return ""
        parts = {kind: part for kind, part in self._parts().items() if kind != "kernel"}
        others, cores = sum(parts.values()), os.cpu_count() or 1
        if cores * (1.0 - others) >= min(threads, cores) - cores * QUIET:
            return ""
        kind = max(parts, key=lambda kind: parts[kind])
        whose = (kind == "other" and legible_line(self.largest)) or _WHOSE[kind]
        had = cores * parts[kind]
        return f"{whose} had {f'{100 * had:.0f} % of a core' if had < 0.995 else f'{had:.1f} cores'}"

    def like(self, other: Load | None) -> bool:
        """Whether it says nothing else than another one that is worth telling."""
        if other is None or self.kind != other.kind:
            return False
        return not self.kind or (abs(self.busy - other.busy) < 0.1 and self.largest == other.largest)

    def words(self) -> dict[str, str]:
        """Say it: ``text`` and after it ``whose`` it is, both empty on a quiet machine; ``about`` has all parts."""
        if not self.kind:
            return {"text": "", "whose": "", "about": ""}
        largest = legible_line(self.largest)
        whose = largest if self.kind == "other" and largest else _WHOSE.get(self.kind, "")
        parts = [f"{_WHOSE[kind]} {100 * part:.0f} %" for kind, part in self._parts().items() if part >= 0.01]
        parts += [f"most of the others is {largest}"] if largest else []
        about = f"Of the time of all processors lately{': ' if parts else ''}{', '.join(parts)}. {_DOES}"
        return {"text": f"{100 * self.busy:.0f} % busy", "whose": whose and f": {whose}", "about": about}

    def _parts(self) -> dict[str, float]:
        parts = {"browser": self.browser, "other": self.other, "kernel": self.kernel, "stolen": self.stolen}
        return {kind: part for kind, part in parts.items() if part is not None}


#: What threads of the operating system itself are called, and the flag by which /proc shows them.
SYSTEM, _KERNEL_THREAD = "the system", 0x00200000


@dataclass(frozen=True, slots=True)
class _Process:
    name: str
    parent: int
    ticks: int


_Looked = tuple[float, tuple[float, float, float], Mapping[int, _Process]]


class LoadWatch:
    """Looks at the machine from time to time. A look costs some milliseconds where hundreds of programs run.

    Parameters
    ----------
    clock : callable, optional
        Seconds of a steady clock.
    within : tuple of float
        Looks that are closer together, or further apart, in seconds, say nothing.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, within: tuple[float, float] = (SHORTEST_S, LONGEST_S)
    ) -> None:
        self._clock, self._within = clock, within
        self._before: _Looked | None = None

    def forget(self) -> None:
        """Begin anew: what happened since the last look is not to be told."""
        self._before = None

    def look(self) -> Load | None:
        """Return what happened since the last look; None for the first one, and where the system tells nothing."""
        if sys.platform != "linux":
            average = load_average()  # how many programs wanted a core lately
            return None if average is None else Load(min(1.0, average))
        now = (self._clock(), totals(), _processes())
        before, self._before = self._before, now
        if before is None or not self._within[0] <= now[0] - before[0] <= self._within[1]:
            return None
        return _between(before, now)


def _between(before: _Looked, now: _Looked) -> Load | None:
    """Work out what happened between two looks."""
    passed, busy, stolen = (b - a for a, b in zip(before[1], now[1], strict=True))
    if passed <= 0:
        return None
    whose = _owners(now[2])
    spent: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for number, process in now[2].items():
        old = before[2].get(number)
        ticks = process.ticks - (old.ticks if old is not None and old.name == process.name else 0)
        if ticks <= 0 or (old is None and ticks > passed):
            continue
        spent[whose[number]] += ticks
        if whose[number] == "other":
            others[process.name] += ticks
    kernel, browser = (min(1.0, spent[kind] / passed) for kind in ("kernel", "browser"))
    load, taken = min(1.0, (busy + stolen) / passed), min(1.0, stolen / passed)
    other = max(0.0, load - taken - kernel - browser)
    name, ticks = max(others.items(), key=lambda one: one[1], default=("", 0))
    return Load(load, kernel, browser, other, taken, name if ticks / passed >= max(0.05, other / 2) else "")


def _owners(processes: Mapping[int, _Process]) -> dict[int, str]:
    """Say of every process whose it is: its own name decides, else who started it."""
    mine, found = os.getpid(), {0: "other"}

    def owner(number: int) -> str:
        if number not in found:
            found[number] = "other"  # a process that starts itself, in a list that was read while it changed
            process = processes.get(number)
            if number == mine:
                found[number] = "kernel"
            elif process is not None:
                found[number] = "browser" if process.name.startswith(BROWSERS) else owner(process.parent)
        return found[number]

    for number in processes:
        owner(number)
    return found


def totals() -> tuple[float, float, float]:
    """Ticks of all processors that have passed, were spent, and were stolen."""
    try:
        with open("/proc/stat", "rb") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
    except (OSError, ValueError):
        return 0.0, 0.0, 0.0
    user, nice, system, idle, waiting, hard, soft, stolen = (*ticks, *[0] * 8)[:8]
    busy = user + nice + system + hard + soft
    return float(busy + idle + waiting + stolen), float(busy), float(stolen)


def _processes() -> dict[int, _Process]:
    """All processes that can be seen, with the ticks that they have spent."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            file = os.open(f"/proc/{name}/stat", os.O_RDONLY)
            try:
                text = os.read(file, 512)
            finally:
                os.close(file)
            begin, end = text.index(b"(") + 1, text.rindex(b")")
            words = text[end + 2 :].split(None, 13)
            called = SYSTEM if int(words[6]) & _KERNEL_THREAD else text[begin:end].decode("utf-8", "replace")
            found[int(name)] = _Process(called, int(words[1]), int(words[11]) + int(words[12]))
        except (OSError, ValueError, IndexError):  # it has ended meanwhile
            continue
    return found

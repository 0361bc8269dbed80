"""The folder of the measurement queue, and what stands in it: the processors that are for measurements.

`workbench.runtime.machine.turns` takes turns; what this machine may use of itself (`workbench.host`) depends on this.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from workbench.arguments import real, shown
from workbench.errors import InputError, RunError

#: The environment variable that names the folder.
VARIABLE = "WORKBENCH_MEASUREMENT_QUEUE"

#: Seconds after which a turn is given away where others wait, unless the folder says something else.
#: Chosen, not measured.
TURN_S = 0.5

#: Name of the file that has the settings.
FILE = "queue.json"

#: Above the number of any processor.
_BEYOND = 1 << 16


@dataclass(frozen=True, slots=True)
class Settings:
    """What stands in the folder.

    Attributes
    ----------
    cores : frozenset of int
        Numbers of the processors that measurements run on, and nothing else; empty: where they like.
    turn_s : float
        Seconds after which a turn is given away where others wait.
    """

    cores: frozenset[int] = frozenset()
    turn_s: float = TURN_S


def folder() -> Path | None:
    """Return the folder of this process's queue; None without one."""
    named = os.environ.get(VARIABLE, "").strip()
    return Path(named) if named else None


def measuring_cores() -> frozenset[int]:
    """Return the processors that are for measurements; empty where none are declared, or the folder cannot be read
    (measuring says so).
    """
    where = folder()
    try:
        return frozenset() if where is None else settings(where).cores
    except RunError:
        return frozenset()


def settings(where: Path) -> Settings:
    """Read what stands in a folder.

    Raises
    ------
    RunError
        ``run.queue`` where it cannot be read, or makes no sense.
    """
    path = where / FILE
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        cores = found.get("cores", [])
        if not all(isinstance(core, int) and 0 <= core < _BEYOND for core in cores):
            raise ValueError("cores are whole numbers")
        return Settings(frozenset(cores), real("turn_s", found.get("turn_s", TURN_S), above=0))
    except FileNotFoundError:
        return Settings()
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise unusable(where, f"its {FILE} cannot be used ({error})") from error


def write(where: Path, wanted: Settings) -> None:
    """Write what stands in a folder.

    Raises
    ------
    InputError
        ``queue.cores`` for processors that are not there.
    OSError
        What the system says.
    """
    count = os.cpu_count() or 1
    beyond = [core for core in wanted.cores if core >= count]
    if beyond:
        raise InputError("queue.cores", f"This machine has no processor {min(beyond)}", (), f"it has 0 to {count - 1}")
    text = json.dumps({"cores": sorted(wanted.cores), "turn_s": wanted.turn_s}) + "\n"
    (where / FILE).write_text(text, encoding="utf-8")
    (where / FILE).chmod(0o644)


def cores_of(text: str) -> frozenset[int]:
    """Read "2-5,8" as numbers of processors.

    Raises
    ------
    InputError
        ``queue.cores``.
    """
    found: set[int] = set()
    for part in text.replace(" ", "").split(","):
        first, dash, last = part.partition("-")
        legible = first.isdecimal() and (last.isdecimal() or not dash) and len(part) < 12
        low, high = (int(first), int(last or first)) if legible else (0, -1)
        if not low <= high < _BEYOND:
            raise InputError("queue.cores", f"{shown(text)} are no processors", (), "write 2-5,8")
        found |= set(range(low, high + 1))
    return frozenset(found)


def unusable(where: Path, why: str) -> RunError:
    """Return the error of a folder that cannot be used."""
    hint = f"make it with `workbench queue {where}`, or clear {VARIABLE} to measure without turns"
    return RunError("run.queue", f"The measurement queue cannot be used: {why}", (str(where),), hint)

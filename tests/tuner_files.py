"""The logs of other tuners that tests read: those in ``tests/data/logs``, and those of a folder that a person names.

``WORKBENCH_TUNER_LOGS`` names one with a folder for each tuner; what holds of a file's excerpt here is then asked of
the whole one, too.
"""

import gzip
import json
import os
from pathlib import Path

HERE = Path(__file__).parent / "data" / "logs"
ROOTS = [HERE, *map(Path, filter(None, [os.environ.get("WORKBENCH_TUNER_LOGS")]))]


def files(*patterns: str) -> list[Path]:
    """Return the files of all roots that match one of the patterns."""
    return sorted({path for root in ROOTS for pattern in patterns for path in root.glob(pattern)})


def name(path: Path) -> str:
    """Return a file's name for a test."""
    return f"{path.parent.name}/{path.name}" + ("" if HERE in path.parents else " (whole)")


def text(path: Path) -> str:
    """Return the text of a file, unpacked."""
    raw = path.read_bytes()
    return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode()


def document(path: Path) -> dict:
    """Return the JSON of a file; the brackets that a torn Kernel Tuner cache lacks are added."""
    unpacked = text(path)
    try:
        return json.loads(unpacked)
    except ValueError:
        return json.loads(unpacked.rstrip().rstrip(",") + "}}")

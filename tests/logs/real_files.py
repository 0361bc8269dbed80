"""Files that real tuners wrote: the excerpts of the repository, and a folder of whole ones where there is one."""

import gzip
import json
import os
from pathlib import Path

EXCERPTS = Path(__file__).parents[1] / "data" / "logs"
WHOLE = os.environ.get("WORKBENCH_TUNER_LOGS", "")


def files(*patterns):
    """Return the excerpts, and whole files of the folders in ``WORKBENCH_TUNER_LOGS``, whose path ends so."""
    folders = [EXCERPTS, *(Path(folder) for folder in WHOLE.split(os.pathsep) if folder)]
    return sorted({path for folder in folders for pattern in patterns for path in folder.rglob(pattern)})


def lines(path):
    """Yield the JSON values of a file's lines but comments."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else open(path) as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                yield json.loads(line)

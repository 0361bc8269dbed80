"""The process that reads a part of a large file: ``python -m workbench.logs.table.part_reader``.

It is told what to read as JSON on standard input. To what was standard output it writes how many bytes it has read, on
lines, then an empty line and the columns: a file would be left over by a process that is killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path

import workbench.logs.importers  # noqa: F401  # each declares a format
from workbench.logs.importer import IMPORTERS, JsonLinesImporter
from workbench.logs.source import LogSource
from workbench.logs.table.part import PartReader


def share_memory(processes: int) -> None:
    """Take a share of the memory that the process that wants the part is limited to, if it is."""
    with contextlib.suppress(ImportError, OSError, ValueError, AttributeError):
        import resource

        most, hard = resource.getrlimit(resource.RLIMIT_DATA)
        if most != resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_DATA, (most // processes, hard))


def main() -> None:
    """Read one part."""
    job = json.loads(sys.stdin.read())
    share_memory(job["processes"])
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # nothing that prints disturbs what is told
    importer = IMPORTERS.find(job["format"])()
    assert isinstance(importer, JsonLinesImporter)

    def told(size: int) -> None:
        out.write(b"%d\n" % size)
        out.flush()

    part = PartReader(LogSource(Path(job["path"])), importer).read(job["start"], job["end"], told)
    out.write(b"\n" + part.columns.to_bytes(part.told()))
    out.close()


if __name__ == "__main__":
    main()

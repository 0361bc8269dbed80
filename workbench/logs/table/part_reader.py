"""The process that reads a part of a large file: ``python -m workbench.logs.table.part_reader``.

It is told what to read as JSON on standard input, writes how many bytes it has read on lines of standard output, and
leaves the columns in a file.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import workbench.logs.importers  # noqa: F401  # each declares a format
from workbench.logs.importer import IMPORTERS, JsonLinesImporter
from workbench.logs.source import LogSource
from workbench.logs.table.part import PartReader


def main() -> None:
    """Read one part."""
    job = json.loads(sys.stdin.read())
    importer = IMPORTERS.find(job["format"])()
    assert isinstance(importer, JsonLinesImporter)

    def told(size: int) -> None:
        sys.stdout.write(f"{size}\n")
        sys.stdout.flush()

    part = PartReader(LogSource(Path(job["path"])), importer).read(job["start"], job["end"], told)
    Path(job["out"]).write_bytes(part.columns.to_bytes(part.told()))


if __name__ == "__main__":
    main()

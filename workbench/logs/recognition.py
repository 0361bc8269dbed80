"""`format_at_a_glance`: whether a file is a tuner's log, by its first bytes alone."""

from __future__ import annotations

import os
from pathlib import Path

from workbench.errors import LogError
from workbench.logs import importers  # noqa: F401  # each declares a format
from workbench.logs.importer import importer_of
from workbench.logs.source import HEAD, GivenBytes
from workbench.logs.space import is_space


def format_at_a_glance(path: Path) -> str:
    """Return the name of the format of a log in text, packed or not; empty for what is none, or is not read.

    A table of one's own counts where its columns were named before. No more than 64 KiB are read and unpacked.
    """
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, "rb") as file:
            begin = GivenBytes(file.read(HEAD), path).head
    except OSError:
        return ""
    if b"\0" in begin or begin.startswith(b"\x1f"):  # not text; packed twice
        return ""
    source = GivenBytes(begin, path)
    importer = importer_of(source)
    if importer is None or is_space(source):
        return ""
    if importer.rank > 1:  # a table of any origin
        try:
            next(iter(importer.read(source)), None)
        except LogError:  # whose columns nobody has named
            return ""
    return importer.name

"""Logs that come with the notebooks."""

from __future__ import annotations

from pathlib import Path

import workbench
from workbench.errors import InputError


def sample_log(name: str) -> Path:
    """Return the path of a log that comes with the notebooks.

    Parameters
    ----------
    name : str
        Name of the file: ``convolution-A100.json.gz``, ``convolution-A4000.json.gz``, ``polygons-RTX3090.json.gz``,
        ``coulomb-RTX2080Ti.json.gz``, ``bert-excerpt.log.gz``. Where they are from: the README beside them.

    Raises
    ------
    InputError
        "lab.no_sample" when there is no such file.
    """
    package = Path(workbench.__file__).parent
    folders = [folder / "data" for folder in (package / "notebooks", package.parent / "notebooks")]
    found = [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir()) if path.suffix == ".gz"]
    for path in found:
        if path.name == name:
            return path
    hint = f"there are: {', '.join(path.name for path in found)}" if found else "install the workbench again"
    raise InputError("lab.no_sample", f"No log {name!r} comes with the notebooks", (name,), hint)

"""Where the notebooks and the sources of labs lie: inside the installed package, or beside it in a source tree."""

from __future__ import annotations

from pathlib import Path

import workbench
from workbench.errors import RunFailure


def shipped_notebooks() -> Path:
    """Return the folder with the notebooks; the sources of labs lie in its folder ``labs``.

    Raises
    ------
    RunFailure
        "lab.no_notebooks" when the installation is not complete.
    """
    package = Path(workbench.__file__).resolve().parent
    for folder in (package / "notebooks", package.parent / "notebooks"):
        if next(folder.glob("*.ipynb"), None) is not None:
            return folder
    hint = "install it again with pip"
    raise RunFailure("lab.no_notebooks", "This installation carries no notebooks", (str(package),), hint)


def source_of(file_name: str) -> Path:
    """Return the source of a lab, of the stem of its notebook such as ``02_tiling``.

    Raises
    ------
    RunFailure
        "lab.no_notebooks" when the installation is not complete.
    """
    path = shipped_notebooks() / "labs" / f"{file_name}.py"
    if not path.is_file():
        raise RunFailure("lab.no_notebooks", f"There is no source of '{file_name}'", (str(path),), "install it again")
    return path

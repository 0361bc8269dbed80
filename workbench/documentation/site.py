"""Where the built site lies: inside an installed package, or in the source tree once it was built there."""

from __future__ import annotations

from pathlib import Path

import workbench
from workbench.errors import RunFailure

START = "index.html"


def site() -> Path:
    """Return the first page of the documentation site.

    Raises
    ------
    RunFailure
        "docs.not_built" in a source tree where nobody has built it, and where it was left out of an installation.
    """
    package = Path(workbench.__file__).resolve().parent
    for folder in (package / "site", package.parent / "docs" / "_build" / "site"):
        if (folder / START).is_file():
            return folder / START
    source = package.parent / "docs"
    if (source / "conf.py").is_file():
        hint = f"install the extra 'docs', then run: sphinx-build {source} {source / '_build' / 'site'}"
    else:
        hint = "install the package again, with a network: the site is built while it is installed"
    raise RunFailure("docs.not_built", "The documentation site is not in this installation", (str(package),), hint)

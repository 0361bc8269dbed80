"""Writing files in one step, so that a reader finds the old one or the new one, and never half of it."""

from __future__ import annotations

import errno
import os


def replace_file(made: str | os.PathLike[str], path: str | os.PathLike[str]) -> None:
    """Put a finished file in the place of another one, or where there is none.

    Raises
    ------
    OSError
        What the system says; also where something stands there that is no ordinary file: a device would be gone.
    """
    if os.path.lexists(path) and not os.path.isfile(path):
        raise OSError(errno.EEXIST, "something that is no ordinary file stands there", os.fspath(path))
    os.replace(made, path)

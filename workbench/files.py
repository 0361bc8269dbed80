"""Files: writing one in one step, so that a reader finds the old one or the new one; and what is given by its file."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager


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


def is_json_file(given: str | os.PathLike[str]) -> bool:
    """Whether something that has a name, or a file in JSON, is given by its file."""
    return isinstance(given, os.PathLike) or given.endswith(".json")


@contextmanager
def locked(file: int) -> Iterator[None]:
    """Keep other writers out; where there are no such locks, appending one line at once has to do."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)

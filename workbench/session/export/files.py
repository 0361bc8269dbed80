"""Files that are taken away: as text for whoever asks, or written here under a name that nothing has yet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from workbench.errors import UsageError


@dataclass(frozen=True, slots=True)
class File:
    """A file that is not on a disk yet.

    Attributes
    ----------
    name : str
    mime : str
    text : str
        Its content; empty where `write` makes it.
    write : callable, optional
        Writes a file that is no text, and whatever belongs beside it, to a path.
    beside : tuple of str
        Suffixes of the files that belong beside it.
    note : str
        What is to be said of it.
    """

    name: str
    mime: str
    text: str = ""
    write: Callable[[Path], object] | None = None
    beside: tuple[str, ...] = ()
    note: str = ""

    def to_json(self) -> dict[str, str]:
        """Return it as it travels.

        Raises
        ------
        UsageError
            "export.file" for one that can only be written.
        """
        if self.write is not None:
            raise UsageError("export.file", f"{self.name} is no text", (), "have it written: give a path")
        note = {"note": self.note} if self.note else {}
        return {"name": self.name, "mime": self.mime, "text": self.text, **note}


def written(file: File, to: Path) -> Path:
    """Write a file and return where it is: at `to`, or in that folder under the first name that is free.

    Raises
    ------
    UsageError
        "export.path" for a place where nothing can be written.
    """
    try:
        if not to.is_dir():
            _write(file, to, "w")
            return to
        return _afresh(file, to)
    except (OSError, ValueError) as error:  # a path with a zero byte
        text = f"{to} cannot be written: {getattr(error, 'strerror', None) or error}"
        raise UsageError("export.path", text, (), "give a folder that exists") from None


def _afresh(file: File, folder: Path) -> Path:
    for path in _names(folder / file.name):
        if any(path.with_suffix(suffix).exists() for suffix in file.beside):
            continue
        try:
            _write(file, path, "x")
            return path
        except FileExistsError:
            continue
    raise AssertionError("the names never end")


def _write(file: File, path: Path, mode: str) -> None:
    if file.write is None:
        with path.open(mode, encoding="utf-8") as out:
            out.write(file.text)
    elif mode == "x" and path.exists():
        raise FileExistsError(path)
    else:
        file.write(path)


def _names(path: Path) -> Iterator[Path]:
    """``a.v2.py``, ``a.v2-2.py``, ``a.v2-3.py``, ..."""
    yield path
    for n in count(2):
        yield path.with_stem(f"{path.stem}-{n}")

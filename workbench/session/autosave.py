"""A file that follows the variants of a session: written whenever they have changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.arguments import path as as_path
from workbench.errors import UsageError
from workbench.session.core.notifications import error_note
from workbench.session.session import Session
from workbench.session.state.results import Key
from workbench.session.variants.saved_file import load, save


class Autosave:
    """Writes the variants of a session to a file whenever they have changed.

    Parameters
    ----------
    path : str
        What it holds already is shown; it need not be there.
    """

    def __init__(self, session: Session, path: str) -> None:
        self._session, self._state, self._path = session, session.state, path
        self._written: object = None
        self._traces: dict[Key, list[Any]] = {}
        if Path(path).exists():
            session.run(lambda: load(session.state, path))
        session.run(self._begin)

    def _begin(self) -> None:
        save(self._state, self._path, self._traces)
        self._written = self._now()
        self._state.onlookers.append(self._look)

    def _look(self) -> None:
        """Write what has changed; a file that cannot be written any more is told once."""
        if (now := self._now()) == self._written:
            return
        self._written = now
        try:
            save(self._state, self._path, self._traces)
        except UsageError as error:
            self._state.note = error_note(error)
            self.close()
            self._session.submit(lambda: None)  # so that the note is shown

    def _now(self) -> object:
        """What of the variants may change."""
        history = self._state.history
        trees = self._state.history.trees.values()
        return self._state.index, [
            (tree.task, tree.changes, tree.at, [(n.name, n.star, history.result(n.key)) for n in tree.nodes.values()])
            for tree in trees
        ]

    def close(self) -> None:
        """Write nothing more."""
        if self._look in self._state.onlookers:
            self._state.onlookers.remove(self._look)


def autosave(session: Session, variants: str | os.PathLike[str] | None, owned: bool) -> Callable[[], None]:
    """Keep the variants of a session in a file, if there is to be one; returns the function that ends this.

    Parameters
    ----------
    owned : bool
        Whether the session is closed when the file cannot be used.
    """
    if variants is None:
        return lambda: None
    try:
        return Autosave(session, as_path("variants", variants)).close
    except BaseException:
        if owned:
            session.close()
        raise

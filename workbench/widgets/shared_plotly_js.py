"""Plotly's five megabytes for the page: one widget of the kernel has them, and every figure names it."""

from __future__ import annotations

import threading

import traitlets
from ipywidgets import Widget
from plotly.offline import get_plotlyjs


class Library(Widget):  # type: ignore[misc]  # ipywidgets has no types
    """Text of a script that several figures need; a page that shows two of them gets it once."""

    text = traitlets.Unicode().tag(sync=True)

    def __repr__(self) -> str:
        return f"Library({len(self.text)} characters)"


_turn = threading.Lock()
_users = 0
_shared: Library | None = None


def borrow() -> Library:
    """Return what has plotly, made for the first figure; every call is followed by one of `give_back`."""
    global _users, _shared
    with _turn:
        if _shared is None or _shared.comm is None:  # somebody may have closed all widgets
            _shared = Library(text=get_plotlyjs())
        _users += 1
        return _shared


def give_back() -> None:
    """Close it after the last figure."""
    global _users, _shared
    with _turn:
        _users -= 1
        gone, _shared = (_shared, None) if _users == 0 else (None, _shared)
    if gone is not None:
        gone.close()

"""The task table of a session as a frame that prints all of its columns."""

from __future__ import annotations

from typing import Any

import pandas

WIDTH = 120
"""Characters of a line; further columns follow below."""

WIDEST = 40
"""Characters of a cell; of what is longer the end is cut."""


class TaskFrame(pandas.DataFrame):
    """A frame whose text leaves no column out; what is made of it is an ordinary frame."""

    @property
    def _constructor(self) -> Any:
        return pandas.DataFrame

    def __repr__(self) -> str:
        """Return all columns, in several blocks where a line does not hold them."""
        return str(self.to_string(line_width=WIDTH, max_colwidth=WIDEST, float_format="{:.4g}".format, na_rep=""))

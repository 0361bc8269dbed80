"""What can be done at the selection, and whether a step that somebody is putting together could be taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .. import palette as moves
from ..acting import on_show
from ..forms import relative
from ..registry import Host, Look, needed, question, slice_


@slice_("palette")
def palette(look: Look) -> dict[str, Any] | None:
    """Return the slice `palette`."""
    view, nest, selected = look.view, look.nest, look.desk.selected
    if view is None or nest is None:
        return None

    def make() -> dict[str, Any]:
        return relative(moves.palette(view.schedule, selected, nest["rows"]))

    found: dict[str, Any] = look.kept.of("palette", (view.schedule.func, selected), make)
    return found


@question("judge")
def judge(host: Host, args: Mapping[str, Any]) -> Any:
    """Say whether ``step`` is legal, and why not."""
    step = needed(args, "judge", "step")
    return moves.verdict(on_show(host).schedule, step)

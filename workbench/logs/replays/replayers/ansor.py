"""Records of TVM's auto-scheduler."""

from __future__ import annotations

from typing import Any

from workbench.logs.replays.ansor import build, follow, read_steps
from workbench.logs.replays.result import CannotReplay, Rebuilt, Request, replayer
from workbench.logs.replays.workloads import workload

PACKED_AHEAD = 2
"""The layout option (``LayoutRewriteOption``) under which weights are stored for the schedule, outside of the time."""

NOTES = {
    "have no match here": (
        "Threads that copy or reduce together have no match here: each copies what it reads, and one reduces."
    ),
    "index has parts": (
        "Tiles of the image do not end where the record cuts some loops: these are cut at the nearest number that "
        "fits, or bound to several dimensions."
    ),
    "copies in all": "Some loops are not written out, because the copies would be too many here.",
}
"""What is said once of a replay, by the words that its steps have."""


@replayer("auto-scheduler", "ansor")
def replay_ansor(request: Request) -> Rebuilt:
    """Rebuild a record of the auto-scheduler; the computation is found by the shapes in the workload's key."""
    steps = read_steps(request.raw)
    try:
        key = request.raw["i"][0][0]
    except (LookupError, TypeError):
        raise CannotReplay("the record names no workload") from None
    if not isinstance(key, str):
        raise CannotReplay("the key of the workload is no text")
    found = workload(key, request.task)
    program = follow(found.func, found.order, steps)
    schedule, told = build(found.func, program, steps, request.target, rewrite=_option(request.raw) == PACKED_AHEAD)
    notes = [found.note, *(note for words, note in NOTES.items() if any(words in step.words for step in told))]
    return schedule, told, [note for note in notes if note]


def _option(raw: Any) -> Any:
    """How weights were stored when the record was measured; None where the version of the log does not say it."""
    inputs = raw["i"][0]
    return inputs[4] if len(inputs) > 4 else None

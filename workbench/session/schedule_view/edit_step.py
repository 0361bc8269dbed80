"""Another number in an earlier step: the schedule that the later steps make of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.advice.step_text import say
from workbench.arguments import whole
from workbench.errors import UsageError
from workbench.schedule import Schedule
from workbench.schedule.primitive import registry
from workbench.session.core.notifications import note
from workbench.session.state.session_state import SessionState
from workbench.session.state.variant_tree import TreeNode, keys_of
from workbench.session.variants.transfer import Replayed, ReplayStep, take


def position(schedule: Schedule, step: object) -> int:
    """Return the place in the trace of a step that is counted from 1.

    Raises
    ------
    UsageError
        "session.step" when there is no such step, or it is no number.
    """
    at, steps = whole("step", step, 1, "session.step"), len(schedule.trace)
    if at > steps:
        hint = f"steps go from 1 to {steps}" if steps else "take one first"
        raise UsageError("session.step", f"There is no step {at}", (), hint)
    return at - 1


def changed(schedule: Schedule, step: int, args: Mapping[str, object]) -> Replayed:
    """Take the steps of a schedule with other arguments in one of them, until a later one is not legal any more.

    Parameters
    ----------
    schedule : Schedule
        Stays as it is.
    step : int
        Which step, from 1.
    args : mapping
        New values of the primitive's parameters; the others stay.

    Raises
    ------
    UsageError
        "session.step"; "primitive.argument" for what the primitive does not take.
    ScheduleError
        Why the step is not legal with these values.

    Examples
    --------
    >>> from workbench import Schedule, workloads
    >>> s = Schedule(workloads.matmul(64, 64, 64))
    >>> _ = s.split("j", [None, 16]), s.unroll("j.1")
    >>> print(changed(s, 1, {"factors": [None, 8]}).schedule.trace[0])
    split('j', [None, 8])
    """
    at = position(schedule, step)
    old = schedule.trace[at]
    new = registry[old.name].make(**{**old.args, **args})
    after = schedule.prefix(at)
    after.apply(new)
    before = tuple(ReplayStep(str(one), True) for one in (*schedule.trace[:at], new))
    steps = before + take(after, schedule.trace[at + 1 :])
    return Replayed(after, steps, say(new))


def last_step(node: TreeNode) -> dict[str, Any]:
    """Return the last step of a variant, its place from 1, and the row of the nest before it that it is about.

    Raises
    ------
    UsageError
        "session.step" for the program as it was written.
    """
    place = position(node.schedule, max(1, node.steps)) + 1
    step, before = node.schedule.trace[-1], node.schedule.prefix(place - 1)
    rows = {b.name: b.name for b in before.buffers} | {b.name: f"stmt:{b.name}" for b in before.blocks}
    rows |= {lp.name: lp.name for lp in before.loops}
    named = [v for value in step.args.values() for v in (value if isinstance(value, tuple) else (value,))]
    row = next((rows[v] for v in named if isinstance(v, str) and v in rows), "")
    return {"row": row, "place": place, "step": step.to_json()}


def change(state: SessionState, node: TreeNode, step: int, args: Mapping[str, object]) -> Replayed:
    """Show a variant of the task on show with other arguments in one of its steps, as a branch from before that step.

    Raises what `changed` does; nothing has changed then.
    """
    found, tree = changed(node.schedule, step, args), state.tree
    keys = keys_of(tree.task, found.schedule)
    before = next(n for key in reversed(keys[:step]) if (n := tree.find(key)) is not None)
    single = len(keys) - 1 == before.steps + 1
    label = str(found.schedule.trace[-1]) if single else f"v{node.id} with {found.onto}"
    kept = found.schedule.copy()  # the caller may move its own
    state.go(tree.add(before.id, kept, edge="step" if single else "replay", by="hand", label=label))
    at, later = found.failed_at, len(found.steps) - step
    if at is None:
        text = f"v{node.id} with {found.onto}" + (f", and its {later} later step{'s' * (later > 1)}" if later else "")
        state.note = note("info", text, "session.changed")
    else:
        bad = found.steps[at]
        text = f"Step {at + 1} of v{node.id}, {bad.text}, is not legal after {found.onto}: {bad.reason}"
        state.note = note("warn", text, bad.code, bad.hint, bad.where) | {"replay": found.to_json()}
    return found

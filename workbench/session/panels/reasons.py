"""What takes the time of the schedule on show, and what would make it faster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from workbench.advice import Plan, why
from workbench.advice.estimated_speedup import LEAST, beside
from workbench.advice.lookahead import Default, default_of, step_back, two_steps
from workbench.advice.memory_limit import MemoryLimit, memory_limit
from workbench.advice.step_text import gain_text
from workbench.analysis.code_figures import code_figures
from workbench.errors import WorkbenchError
from workbench.exercise_mode import why_off
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.session import registry as declare
from workbench.session.measurement.comparisons import best_beside
from workbench.session.registry import Host, SliceContext
from workbench.session.state.results import Key
from workbench.session.state.session_state import SessionState
from workbench.session.state.trial_origin import DEFAULT
from workbench.session.state.variant_tree import TreeNode
from workbench.space.program_keys import program_key
from workbench.target import Target

APART = 1.5
"""How many times longer or shorter than measured an estimate may be without being called so."""

NEAR_PEAK = 0.8
"""Share of the peak from which on what was measured is said beside the estimate."""

NEAR_MEMORY = 0.8
"""Share of what memory allows from which on steps for the core are not offered, but where a measured one is faster."""

LITTLE_LEFT = (0.9, 1.05)
"""Shares of the peak where little is left to gain; beyond, an algorithm does less than what is counted."""


@declare.slice_("why", after=("head",))
def why_slice(context: SliceContext) -> dict[str, Any] | None:
    """Return the slice `why`: what bounds the schedule on show by its estimate; None while numbers are open."""
    view, target, constants = context.view, context.state.target, context.state.constants
    if view is None or not view.schedule.is_concrete:
        return None
    if off := why_off("advice"):
        return {"text": "", "rows": [], "measured": "", "off": off}
    state = context.state
    limit, ms = _limit(state, view.schedule), _clean_ms(state, view.key)
    near = _near_memory(limit, ms) or ("the peak" if _near(context) else "")
    measured = _measured(context, limit)

    def make() -> dict[str, Any] | None:
        found = why(view.schedule, target, cures=False, constants=constants)
        if found is None:
            return None
        told = found.to_json()
        if near:
            told = {"text": f"{told['text']} Near {near}: little is left.", "rows": []}
        return {**told, "measured": measured}

    return context.cache["why"].of((view.schedule.func, measured, near), make)


def _limit(state: SessionState, schedule: Schedule) -> MemoryLimit | None:
    """Return what memory allows a schedule of the task on show; once roofs are known, see the charts."""
    return memory_limit(schedule.base, state.target, state.constants) if state.roofs == "stored" else None


def _clean_ms(state: SessionState, key: Key) -> float | None:
    result = state.history.result(key)
    return None if result is None else result.clean_ms


def _near_memory(limit: MemoryLimit | None, ms: float | None) -> str:
    """Name what a measured time is near; "" where that is not memory."""
    return f"what {limit.level} allows" if limit is not None and ms and limit.ms >= NEAR_MEMORY * ms else ""


def _near(context: SliceContext) -> bool:
    """Whether the schedule on show is near the peak, as measured, else as estimated."""
    state, view = context.state, context.view
    top = state.peak_for(state.index)
    if view is None or not top:
        return False
    result, guess = state.history.result(view.key), state.estimates.of(view, state.peak)
    speed = result.gflops if result is not None else None
    if not speed and guess is not None and guess.ms:
        speed = guess.flops / (guess.ms * 1e6)
    low, high = LITTLE_LEFT
    return bool(speed) and low <= (speed or 0.0) / top <= high


def _measured(context: SliceContext, limit: MemoryLimit | None) -> str:
    """Say what was measured where the estimate is not to be believed, or memory bounds it; "" elsewhere."""
    state, view = context.state, context.view
    result = state.history.result(view.key) if view is not None else None
    if view is None or result is None or not (ms := result.clean_ms):
        return ""
    top, guess = state.peak_for(state.index), state.estimates.of(view, state.peak)
    share = result.gflops / top if top and result.gflops else 0.0
    off = guess.ms / ms if guess is not None and guess.ms else 1.0
    wrong = max(off, 1.0 / off)
    bound = _near_memory(limit, ms)
    if share < NEAR_PEAK and wrong <= APART and not bound:
        return ""
    told = [f"{100 * share:.{1 if share < 0.095 else 0}f} %{'*' if share > 1.0 else ''} of peak"] if share else []
    if bound and limit is not None:
        told = [limit.text(ms)]
    if wrong > APART:
        told.append(f"the estimate is {wrong:.1f}× too {'slow' if off > 1.0 else 'fast'} here")
    return f"Measured: {'; '.join(told)}."


@declare.question("cures", lane="cures")
def cures(host: Host, args: Mapping[str, Any]) -> Callable[[], Any]:
    """Say which legal steps make the variant ``node`` (that on show by default) faster by its estimate, for each reason
    that has some: the one that gains most first, and none that it would make useless; but for more threads, which come
    with ``or`` then: that a thread rests is not said without the step. Near what memory allows, no step is proposed.

    Where none gains, or none that was not measured, ``note`` says so, and rows of no reason say what else does:
    ``steps`` (two that pay together) or ``back`` (an earlier state, and the offers from there), and ``default`` (the
    command ``open_default``; no steps). What was measured and is faster than all of that comes as ``best``, with a
    command in ``act`` and ``args``.
    """
    if why_off("advice"):
        return lambda: {"rows": []}
    state = host.state
    node = state.variant(args.get("node"))
    view, target, constants = node.schedule, state.target, state.constants
    known, timed = _gains(state, node), _Timed.of(state, node)
    full = _near_memory(_limit(state, view), timed.ms)

    def work() -> dict[str, Any]:
        found = why(view, target, constants=constants) if view.is_concrete else None
        reasons = found.reasons if found is not None else ()
        cured = sorted(((r, r.cure) for r in reasons if r.cure is not None), key=lambda one: -one[1].gain)
        allowed = [(one, cure) for one, cure in cured if timed.allows(cure.taken(view))]
        rows = []
        for one, cure in allowed:
            other = one is not allowed[0][0] and not beside(view, allowed[0][1], cure, target, constants)
            if not other or one.code == "serial":
                rows.append({"id": one.id, **cure.to_json(), **({"or": True} if other else {})})
        better = timed.first(max((cure.gain for _, cure in allowed if not full), default=1.0))
        if full:
            return {"rows": better, **({"note": _BETTER} if better else {})}
        if found is None or any(cure.gain >= LEAST for _, cure in allowed):
            return {"rows": [*rows, *better], **({"note": _BETTER} if better else {})}
        more = better or list(_else(view, target, constants, known, timed))
        dropped = any(cure.gain >= LEAST for _, cure in cured)
        said = _DROPPED if dropped else _NOTE
        return {"rows": [*rows, *more], "note": said.format("" if more else _usual(view, target))}

    return work


MORE_SPILLS = 2
"""Loops beside the worst one that are named."""

_UNROLLED = "{} spills in the machine code, which has no loop"


@declare.question("spills", lane="spills")
def spills(host: Host, args: Mapping[str, Any]) -> Callable[[], Any]:
    """Say how often innermost loops of the variant ``node`` keep a vector register on the stack; "" where they do not.

    The estimate counts the values of a statement; what the compiler makes of it only the code says.
    """
    if why_off("advice"):
        return lambda: {"text": ""}
    view, target = host.state.variant(args.get("node")).schedule, host.state.target

    def work() -> dict[str, Any]:
        if not view.is_concrete:
            return {"text": ""}
        try:
            found = code_figures(view.func, target)
        except WorkbenchError:  # code that cannot be made, or is no processor's, has no such reason
            return {"text": ""}
        if not found.spilled:
            return {"text": ""}
        most = Machine.of(target).registers
        full = found.registers is not None and found.registers >= most
        why_so = f": the tile needs more than {most} registers" if full else ""
        first, *rest = found.spilled
        told = f"{first[1]} spill{'s' * (first[1] != 1)} in an iteration of {first[0]}" if first[0] else _UNROLLED
        told = told.format(first[1]) + "".join(f", {n} of {row}" for row, n in rest[:MORE_SPILLS])
        return {"text": f"{told}{why_so}"}

    return work


@declare.question("plan", lane="plan")
def whole_plan(host: Host, args: Mapping[str, Any]) -> Callable[[], Any]:
    """Say how to go from the variant ``node`` (that on show by default) to the fastest schedule by the estimate.

    Each row takes the plan up to itself; ``text`` says what all of it is worth, also beside the default schedule. While
    its rows are taken, what is left of it is told without another search.
    """
    if why_off("advice"):
        return lambda: {"text": "", "rows": []}
    state = host.state
    node, target, constants, followed = (
        state.variant(args.get("node")),
        state.target,
        state.constants,
        state.estimates.plan,
    )
    view, timed = node.schedule, _Timed.of(state, node)

    def pays(found: Plan) -> bool:
        back = bool(found.offers and found.offers[0].without)
        return timed.allows(found.end) and timed.gain(found.gain, back) >= LEAST

    def work() -> dict[str, Any]:
        if not view.is_concrete:
            return {"text": "", "rows": []}
        found = followed.left(view, target, constants)
        if found is None or (found.offers and not pays(found)):
            found = followed.find(view, target, constants)
        if found.offers and not pays(found):
            told: dict[str, Any] = {
                "text": "By what was measured the plan of the estimate makes it no faster.",
                "rows": [],
            }
        else:
            told = found.to_json()
        better = timed.first(found.gain if found.offers else 1.0)
        return {**told, "text": " ".join([told["text"], *(f"Faster: {one['label']}." for one in better)])}

    return work


ENOUGH = 0.9
"""Share of the default schedule's speed with which an earlier state is good enough."""

_NOTE = "By the estimate no step makes it 5 % faster{}."
_DROPPED = "What the estimate offers was measured here and is no faster{}."
_BETTER = "Something that was measured is faster than the estimate promises:"

CLEARLY = 1.1
"""How many times as fast the best that was measured has to be to be offered."""


def _usual(view: Schedule, target: Target) -> str:
    """Say how the default schedule is, where it is no faster."""
    found = default_of(view, target)[0]
    same = program_key(found.func) == program_key(view.func)
    return "; this is the default schedule" if same else ", nor is the default schedule"


@dataclass(frozen=True, slots=True)
class _Timed:
    """What was measured, which overrules the estimate of what is offered.

    Attributes
    ----------
    ms : float or None
        Time of the schedule that offers are for.
    slow : float
        How many times too slow the estimate of that schedule is; 1 where it is near the truth, or too fast.
    known : tuple
        Schedules of the task, and how long each takes at least, over the time of that schedule.
    best : tuple or None
        The fastest that was measured, as a row of `cures`, and how many times as fast it is; None where it is not
        clearly faster.
    """

    ms: float | None
    slow: float
    known: tuple[tuple[Schedule, float], ...]
    best: tuple[dict[str, Any], float] | None = None

    @staticmethod
    def of(state: SessionState, node: TreeNode) -> _Timed:
        """Take what a session knows; `node` is the variant that offers are for."""
        result = state.history.result(node.key)
        ms = result.clean_ms if result is not None else None
        known = tuple((one.schedule, ratio) for one, ratio in _ratios(state, node))
        guess = state.history.estimates.get(node.key)
        off = guess.ms / ms if ms and guess is not None and guess.ms else 1.0
        return _Timed(ms, off if off > APART else 1.0, known, _faster(state, node))

    def allows(self, end: Schedule) -> bool:
        """Whether a schedule may be offered: not if its program was measured and is no faster."""
        if self.ms is None or not self.known:
            return True
        key = program_key(end.func)
        ratios = [ratio for one, ratio in self.known if one.is_concrete and program_key(one.func) == key]
        return not ratios or min(ratios) < 1.0

    def first(self, gain: float) -> list[dict[str, Any]]:
        """Return the row of the best where it is faster than an offer of this gain would be."""
        return [self.best[0]] if self.best is not None and self.best[1] > max(gain, CLEARLY) else []

    def gain(self, estimated: float, back: bool) -> float:
        """Return the gain of what begins elsewhere, `back`, over the time that was measured; else the estimated one."""
        return estimated / self.slow if back else estimated


def _faster(state: SessionState, node: TreeNode) -> tuple[dict[str, Any], float] | None:
    """Return the best of the task on show as a row, and how many times as fast as a variant it is; None where nobody
    can tell the two apart.
    """
    if (known := best_beside(state, node)) is None:
        return None
    best, found, than = known
    gain, trial = 1.0 / than.ratio, best.record.trial
    if best.record.origin == "default" or (found is not None and found.label == DEFAULT):
        return {"id": "default", "label": str(Default(gain, True)), "row": ""}, gain
    if trial >= 0:
        name, act, args = f"trial {trial}", "open_trial", {"trial": trial}
    elif found is not None:
        name, act, args = f"v{found.id}", "goto", {"step": found.id}
    else:
        return None
    label = f"{name}, {gain_text(gain)}× as fast" + (f" ({than.how})" if than.how else "")
    return {"label": label, "act": act, "args": args, "id": "best", "row": ""}, gain


def _else(
    view: Schedule, target: Target, constants: str, known: Mapping[str, float], timed: _Timed
) -> Iterator[dict[str, Any]]:
    """Yield what there is where no step gains; gains that are `known`, by the trace, overrule the estimate."""
    found, best = default_of(view, target, constants)
    best = Default(timed.gain(best.gain, True))
    if (both := two_steps(view, target, constants)) is not None and timed.allows(both.taken(view)):
        yield {"id": "steps", **both.to_json()}
    elif best.gain >= LEAST and (back := step_back(view, target, ENOUGH * best.gain, constants)) is not None:
        gain = timed.gain(back.gain, True)
        if gain >= LEAST and timed.allows(back.taken(view)):
            yield {"id": "back", **replace(back, gain=gain).to_json()}
    if measured := known.get("\n".join(map(str, found.trace))):
        best = Default(measured, True)
    if best.gain >= LEAST and timed.allows(found):
        yield {"id": "default", "label": str(best), "row": ""}


def _ratios(state: SessionState, node: TreeNode) -> Iterator[tuple[TreeNode, float]]:
    """Yield the variants of the task on show that have a time, and how long each takes beside one of them."""
    then = state.history.result(node.key)
    for one in state.tree.nodes.values():
        now, said = state.history.result(one.key), state.history.verdict(one.key, node.key, "")
        if said is None or now is None or then is None or not then.ms:
            continue
        yield one, now.bounds[0] / then.ms if now.why_not and not said.told else said.ratio


def _gains(state: SessionState, node: TreeNode) -> dict[str, float]:
    """Return how many times as fast variants of the task on show are as one of them, by their traces."""
    found = state.history.result(node.key)
    if found is None or not found.clean_ms:
        return {}
    known = ((one, ratio, state.history.result(one.key)) for one, ratio in _ratios(state, node))
    return {one.key[1]: 1.0 / ratio for one, ratio, result in known if ratio and result and result.clean_ms}

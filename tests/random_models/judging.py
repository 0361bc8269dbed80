"""One model run by onnxruntime and by the workbench, and what came of it."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx

from random_models import oracle
from random_models.conditions import Case
from random_models.draft import TRIALS, Draft, Step
from random_models.known import excuse
from random_models.values import Value
from workbench.errors import WorkbenchError
from workbench.graph.onnx import read_program
from workbench.network.dynamic_shapes import DynamicExecutable

#: Units in the last place by which a result may differ whatever rounding does to it: functions are approximated.
ULPS = {"float16": 4, "float32": 32, "float64": 32}
#: Times that what disturbed operands do to a result may be exceeded: a few draws do not find the worst.
SPREAD = 4
#: Differences below this are rounding of numbers near 1 that cancel inside of an operator: 1 + erf, a cell's state.
FLOOR = {"float16": 1e-3, "float32": 4e-7, "float64": 4e-16}


@dataclass(frozen=True)
class Result:
    """What came of a model: "same", "refused", "differs", "not ours", "crash", "hang", or "none" (there is none)."""

    number: int
    status: str
    operators: tuple[str, ...] = ()
    opset: int = 0
    culprit: str = ""
    detail: str = ""

    def __str__(self) -> str:
        chain = " ".join(self.operators)
        return f"{self.number} {self.status} {self.culprit} (opset {self.opset}: {chain}): {self.detail}"


def ours(model: onnx.ModelProto, feeds: Mapping[str, Value]) -> dict[str, Value]:
    """Outputs as the workbench computes them."""
    return DynamicExecutable(read_program(model.SerializeToString())).run(feeds)


def judge(draft: Draft, number: int, begun: Callable[[], None] = lambda: None) -> Result:
    """Compare all outputs of a draft's model; `begun` is called where onnxruntime is done: what follows is ours."""
    model = draft.model()
    operators = tuple(s.proto.op_type for s in draft.steps)
    feeds = {v.name: draft.known[v.name] for v in model.graph.input}
    try:
        want = dict(zip([o.name for o in model.graph.output], oracle.run(oracle.session(model), feeds), strict=True))
    except oracle.Refused as e:  # of other outputs than when the model was made
        return Result(number, "none", operators, draft.opset, detail=f"onnxruntime: {_line(e)}")
    begun()
    if any(_shapes(want[n]) != _shapes(world[n]) for world in draft.moved for n in want):
        return Result(number, "none", operators, draft.opset, detail="its shapes depend on rounding")
    try:
        got = ours(model, feeds)
    except WorkbenchError as e:
        return _refused(draft, number, e)
    except Exception as e:
        where = traceback.extract_tb(e.__traceback__)[-1]
        text = f"{type(e).__name__} in {where.filename.rpartition('/')[2]}:{where.lineno}: {_line(e)}"
        return Result(number, "crash", operators, draft.opset, _culprit(draft), text)
    whys = {n: why for n, value in want.items() if (why := difference(value, got[n], _worlds(draft, n)))}
    if whys and not any(_difference_at(draft, n, got[n]) for n in whys):
        n, why = next(iter(whys.items()))
        detail = f"onnxruntime's nodes one by one give what we do; together they do not | {n}: {why}"
        return Result(number, "not ours", operators, draft.opset, "together", detail)
    return _differs(draft, number, whys) if whys else Result(number, "same", operators, draft.opset)


@dataclass(frozen=True)
class _Blame:
    """Nodes that are wrong by themselves: the first that is not excused, the first of all, reasons, what is tainted."""

    unexcused: str
    first: str
    reasons: list[str]
    tainted: set[str]


def _blame(draft: Draft) -> _Blame:
    unexcused, first, reasons, tainted = "", "", list[str](), set[str]()
    for step in draft.steps:
        if not tainted.isdisjoint(step.reads):
            tainted.update(step.makes)
        got = _alone(draft, step)
        if got is not None and not any(_difference_at(draft, n, got[n]) for n in step.makes):
            continue
        reason = excuse(_case(draft, step, got))
        if got is None and not reason:
            continue
        first, unexcused = first or step.proto.op_type, unexcused or ("" if reason else step.proto.op_type)
        if reason:
            tainted.update(step.makes)
            reasons.append(f"{step.proto.op_type}: {reason}")
    return _Blame(unexcused, first, reasons, tainted)


def _differs(draft: Draft, number: int, whys: Mapping[str, str]) -> Result:
    """What to say of outputs that differ: each has to come from nodes that are wrong by themselves and excused."""
    blame = _blame(draft)
    own = next((n for n in whys if n not in blame.tainted), next(iter(whys)))
    ours_ = blame.unexcused or own not in blame.tainted
    text = f"{own}: {whys[own]}"
    culprit = (blame.unexcused or "together") if ours_ else blame.first
    operators = tuple(s.proto.op_type for s in draft.steps)
    status, detail = ("differs", text) if ours_ else ("not ours", f"{blame.reasons[0]} | {text}")
    return Result(number, status, operators, draft.opset, culprit, detail)


def _refused(draft: Draft, number: int, e: WorkbenchError) -> Result:
    """What to say of a refusal: the node has to be excused, or to read what comes of one that is."""
    operators, detail = tuple(s.proto.op_type for s in draft.steps), f"{e.code}: {e.message}"
    step = next((s for s in draft.steps if f"'{s.proto.name}'" in str(e)), None)
    blame = _blame(draft)
    if blame.unexcused or step is None or blame.tainted.isdisjoint((*step.reads, *step.makes)):
        return Result(number, "refused", operators, draft.opset, _refused_at(e, operators), detail)
    return Result(number, "not ours", operators, draft.opset, blame.first, f"{blame.reasons[0]} | {detail}")


def _refused_at(e: WorkbenchError, operators: Sequence[str]) -> str:
    found = re.search(r"\((\w+)\)|Operator '(\w+)'", str(e))
    return (found[1] or found[2]) if found else "+".join(operators)


def _culprit(draft: Draft) -> str:
    """The first node that crashes by itself; "together" where none does."""
    for step in draft.steps:
        try:
            _alone(draft, step)
        except Exception:
            return step.proto.op_type
    return "together"


def _alone(draft: Draft, step: Step) -> dict[str, Value] | None:
    """Results of a node by itself, from onnxruntime's operands; None where it is refused."""
    try:
        return ours(*draft.alone(step))
    except WorkbenchError:
        return None


def _difference_at(draft: Draft, name: str, got: Value) -> str:
    return difference(draft.known[name], got, _worlds(draft, name))


def _case(draft: Draft, step: Step, got: Mapping[str, Value] | None) -> Case:
    """A node that is wrong by itself; without results where it is refused."""
    x, want = [draft.known[n] if n else None for n in step.proto.input], [draft.known[n] for n in step.makes]
    if got is None:
        return Case(step.proto, draft.opset, x, want, [], [])
    masks = [_wrong(draft.known[n], got[n], _worlds(draft, n)) for n in step.makes]
    return Case(step.proto, draft.opset, x, want, [got[n] for n in step.makes], masks)


def _wrong(want: Value, got: Value, moved: Sequence[Value] | None) -> np.ndarray | None:
    """Which elements of a tensor are wrong; None where it is no tensor of that shape and type."""
    if isinstance(want, list) or isinstance(got, list) or (got.shape, got.dtype) != (want.shape, want.dtype):
        return None
    return ~_right(want, got, moved)


def _worlds(draft: Draft, name: str) -> list[Value] | None:
    """What rounding makes of a tensor; None where nothing was rounded on the way to it."""
    return [world[name] for world in draft.moved] if name in draft.rounded else None


def _shapes(value: Value) -> object:
    return [v.shape for v in value] if isinstance(value, list) else value.shape


def _line(e: Exception) -> str:
    return (str(e).strip().splitlines() or [""])[0][:160]


def difference(want: Value, got: Value, moved: Sequence[Value] | None) -> str:
    """What is wrong with a result; "" where nothing is.

    `moved` is what disturbed operands make of it; None where every bit has to be right.
    """
    if isinstance(want, list):
        if not isinstance(got, list) or len(got) != len(want):
            return f"a sequence of {len(want)} expected"
        worlds = [moved and [m[k] for m in moved] for k in range(len(want))]
        return next((p for p in map(difference, want, got, worlds) if p), "")
    if not isinstance(got, np.ndarray):
        return f"a tensor expected, not {type(got).__name__}"
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if want.dtype.kind in "OU":
        return "" if [str(s) for s in want.flat] == [str(s) for s in got.flat] else f"{got!r}, expected {want!r}"
    if got.dtype != want.dtype:
        return f"type {got.dtype}, expected {want.dtype}"
    right = _right(want, got, moved)
    if right.all():
        return ""
    at = tuple(int(k) for k in np.argwhere(~right)[0])
    return f"{int((~right).sum())} of {right.size} elements: {got[at]!r} at {at}, expected {want[at]!r}"


def _right(want: np.ndarray, got: np.ndarray, moved: Sequence[Value] | None) -> np.ndarray:
    return _same(want, got) if moved is None else _close(want, got, [np.asarray(m) for m in moved])


def _same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray((a == b) | ((a != a) & (b != b)))


def _close(want: np.ndarray, got: np.ndarray, moved: Sequence[np.ndarray]) -> np.ndarray:
    """Which elements are as near as rounding allows; where it may move one without bounds, anything is."""
    a, b = want.astype("f8"), got.astype("f8")
    slack, free = np.zeros(want.shape), np.zeros(want.shape, bool)
    with np.errstate(all="ignore"):
        for k, m in enumerate(moved):
            apart = np.where(_same(m, want), 0, np.abs(m.astype("f8") - a))
            free |= ~np.isfinite(apart)
            slack = np.maximum(slack, (SPREAD if k < TRIALS else 1) * apart)
        if want.dtype.kind == "f":
            kind = want.dtype.name
            slack = slack + ULPS[kind] * float(np.finfo(kind).eps) * np.abs(a) + FLOOR[kind]
        near = np.isfinite(a) & (slack > 0) & (np.abs(a - b) <= slack)  # large integers are none of float64
        return _same(want, got) | near | free

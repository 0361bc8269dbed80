"""What can be done next at the selection, primitive by primitive, and why the rest cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.advice.step_legality import at_hand
from workbench.advice.step_text import argument
from workbench.analysis.loop_nest.nest_rows import name_of
from workbench.ir import Buffer
from workbench.ir.text.printer import dim_text
from workbench.schedule import Schedule
from workbench.schedule.field_kinds import Factors, Number
from workbench.schedule.holes import divisors
from workbench.schedule.legal_moves import Move, judge, judge_all
from workbench.schedule.primitive import Primitive, registry

QUICK = 8
"""Moves of one primitive that are listed."""

QUICK_ANYWHERE = 2
"""The same when nothing is selected; only as many are judged as it takes to find them, at most `JUDGED`."""

JUDGED = 40
"""Candidates of one primitive that are judged when nothing is selected, while too few of them are legal."""

_WANTS = {
    "loop": ("a loop",), "block": ("a statement",), "buffer": ("a buffer",), "nest": ("a loop", "a statement"),
}  # fmt: skip
"""What has to be selected for a field that names it."""


def primitives() -> list[dict[str, Any]]:
    """Describe all primitives, as the forms need it."""
    return [
        {
            "name": cls.name,
            "category": cls.category,
            "summary": cls.summary(),
            "returns": cls.returns,
            "fields": [f.describe() for f in cls.fields()],
        }
        for cls in registry
    ]


def palette(view: Schedule, selected: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the slice `palette` for a row of the nest, a buffer, or nothing ("")."""
    name = name_of(selected)
    found: dict[str, list[Move]] = {cls.name: [] for cls in registry}
    if name:
        for move in view.moves(name):
            found[move.primitive].append(move)
    else:
        for cls in registry:
            found[cls.name] = _some(view, cls)
    extent = next((r["extent"] for r in rows if r["id"] == name and r["kind"] == "loop"), None)
    kinds = _kinds(view, name)
    for cls in registry:
        found[cls.name] = found[cls.name] or _refused(view, cls, name, kinds)
    items = [_item(cls, found[cls.name], name, kinds, extent) for cls in registry]
    return {"at": selected, "about": _about(view, selected, rows), "rows": items}


def _some(view: Schedule, cls: type[Primitive]) -> list[Move]:
    """Judge candidates all over the nest until a few legal ones are known."""
    out: list[Move] = []
    for move in judge_all(view.func, cls.candidates(view.func, view.target, None), view.target):
        out.append(move)
        if len(out) == JUDGED or sum(m.legal for m in out) == QUICK_ANYWHERE:
            break
    return sorted(out, key=lambda m: not m.legal)[:QUICK_ANYWHERE]


def _refused(view: Schedule, cls: type[Primitive], name: str, kinds: set[str]) -> list[Move]:
    """Judge a step that a primitive without candidates could take here: its refusal says why there are none."""
    args, guessed = _guess(view, cls, name, kinds)
    if not args:
        return []
    move = judge(view.func, cls.make(**args), view.target)
    # A refusal that is not about what is selected is about what was guessed.
    unfit = guessed and name not in move.where
    return [] if move.legal or unfit or move.code.endswith(".unknown") else [move]


def _guess(view: Schedule, cls: type[Primitive], name: str, kinds: set[str]) -> tuple[dict[str, Any], bool]:
    """Put what is selected into the one field that names something, the first word or a number into the others.

    Returns no arguments where that is not enough, and whether something was put into others. What a loop refuses
    depends on the word, so there is none to guess.
    """
    args: dict[str, Any] = {}
    needed = [f for f in cls.fields() if f.required or f.kind.variadic]
    names = [f for f in needed if f.kind.names]
    if len(names) != 1 or not kinds & set(_WANTS.get(names[0].kind.names, ())):
        return {}, False
    if len(needed) > 1 and names[0].kind.names == "loop" and not names[0].kind.variadic:
        return {}, False
    for field in needed:
        if field is names[0]:
            args[field.name] = (name,) if field.kind.variadic else name
            continue
        words = field.kind.options(view.func, args)
        if not words and not isinstance(field.kind, Number):
            return {}, False
        args[field.name] = words[0] if words else 1
    return args, len(needed) > 1


def _item(cls: type[Primitive], moves: list[Move], name: str, kinds: set[str], extent: object) -> dict[str, Any]:
    # Of several refusals the one that tells most: a size that does not divide says little about the other dimensions.
    moves = sorted(_unlike(moves), key=lambda m: (not m.legal, m.code.endswith(".divides")))
    first = moves[0] if moves else None
    legal = first is not None and first.legal
    # One refusal stands for all: the form asks about others.
    chosen = [m for m in moves if m.legal][:QUICK] or moves[:1]
    offers = [{"args": m.args, "label": _label(m.step, name)} for m in chosen]
    item: dict[str, Any] = {
        "id": cls.name, "legal": legal, "count": sum(m.legal for m in moves), "reason": "", "hint": "",
        "code": "", "where": [], "witness": None, "quick": offers, "divisors": None,
    }  # fmt: skip
    if first is None:
        item["reason"], item["hint"] = _nothing(cls, kinds)
    elif not legal:
        item |= {"reason": first.reason, "hint": first.hint, "code": first.code, "where": list(first.where)}
        item["witness"] = at_hand(first)
    if isinstance(extent, int) and any(isinstance(f.kind, Factors) for f in cls.fields()):
        item["divisors"] = list(divisors(extent))
    return item


def _unlike(moves: Sequence[Move]) -> list[Move]:
    """Moves without repetitions: two reasons to offer a step are one offer."""
    return list({str(m.step): m for m in moves}.values())


def _label(step: Primitive, name: str) -> str:
    """Text of a button under the primitive's name: the arguments without what is selected anyway, or usual."""
    fields = [f for f in step.fields() if step.args[f.name] != name]
    said = [f for f in fields if f.required or step.args[f.name] != f.default]
    parts = [argument(f, step.args[f.name]) for f in said or fields]
    return ", ".join(p for p in parts if p) or name


def _nothing(cls: type[Primitive], kinds: set[str]) -> tuple[str, str]:
    """Say why a primitive has nothing to offer here."""
    wants = list(dict.fromkeys(what for f in cls.fields() for what in _WANTS.get(f.kind.names, ())))
    if kinds and wants and not kinds & set(wants):
        return f"It acts on {' and '.join(wants)}.", f"select {' or '.join(wants)}"
    return cls.idle or "Nothing to do with it here.", ""


def _kinds(view: Schedule, name: str) -> set[str]:
    """Say what goes by the name: often a statement and the buffer that it writes."""
    named = {
        "a loop": {lp.name for lp in view.loops},
        "a statement": {b.name for b in view.blocks},
        "a buffer": {b.name for b in view.buffers},
    }
    return {kind for kind, names in named.items() if name in names}


def _about(view: Schedule, selected: str, rows: Sequence[Mapping[str, Any]]) -> str:
    if not selected:
        return "the whole program"
    row = next((r for r in rows if r["id"] == selected), None)
    if row is not None and row["kind"] == "loop":
        sort = f"{row['chips'][0]} " if row["reduce"] and row["chips"] else ""
        mark = {"parallel": "parallel ", "vectorize": "vectorised ", "unroll": "unrolled "}.get(row["mark"], "")
        return f"{mark}{sort}loop, extent {row['extent']}"
    if row is not None:
        return f"{'first value' if row['kind'] == 'init' else 'statement'} of {row['block']}"
    buffer = next((b for b in view.buffers if b.name == selected), None)
    if buffer is None:
        return selected
    shape = ", ".join(map(dim_text, buffer.shape))
    kind = f"{'temporary' if buffer.role == 'temp' else buffer.role} {buffer.dtype}[{shape}]"
    return " · ".join([kind, *storage(buffer)])


def storage(buffer: Buffer) -> list[str]:
    """Say how a buffer lies in memory, where that is not as usual: packed, in which memory, with which stride."""
    out = ["packed"] if buffer.layout else []
    if buffer.scope != "auto":
        out.append(buffer.scope)
    for align in buffer.align:
        extra = f" + {align.offset}" if align.offset else ""
        out.append(f"stride {align.dim} = {align.factor}n{extra}")
    return out

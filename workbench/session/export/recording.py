"""A session as it is at one moment, with answers to what a reader may ask, so that it can be read without a kernel."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

from workbench.session.core.protocol import VERSION, error_json
from workbench.session.registry import QUESTIONS, RECORDED, SLICES, Host, SliceContext, answer, slice_cache
from workbench.session.schedule_view.nest_listing import known, nest_slice

Asked = tuple[str, Mapping[str, Any], Callable[[], Any] | dict[str, Any]]

MOST_ROWS = 60
"""Rows of the nest for which is recorded what depends on the selection."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What was seen in the session's thread; `to_json` works out the rest, in any thread.

    Attributes
    ----------
    selections : callable
        Returns the slices that depend on the selection, by what is selected.
    questions : list of (name, arguments, answer)
        Questions with their answers, or with the functions that work them out.
    """

    slices: Mapping[str, Any]
    selections: Callable[[], Mapping[str, Mapping[str, Any]]]
    questions: list[Asked]

    def to_json(self) -> dict[str, Any]:
        """Return the recording as plain values: ``{v, slices, selections, answers}``."""
        answers: dict[str, Any] = {}
        for q, args, work in self.questions:
            if _is_there(answers, q, args):
                answers[key_of(q, args)] = _answer(work) if callable(work) else work
        return {"v": VERSION, "slices": self.slices, "selections": self.selections(), "answers": answers}


def _is_there(answers: Mapping[str, Any], q: str, args: Mapping[str, Any]) -> bool:
    """Whether there is a page of a listing, or a pass, of which only the answer before tells how many there are."""
    if "from" in args:
        found = answers[key_of(q, {name: value for name, value in args.items() if name != "from"})]
        return bool(found["ok"]) and int(args["from"]) < found["value"]["total"]
    if "pass" in args:
        found = answers[key_of("passes", {})]
        return bool(found["ok"]) and int(args["pass"]) < len(found["value"]["passes"])
    return True


def key_of(q: str, args: Mapping[str, Any]) -> str:
    """Return the name of a question with its arguments; arguments that say nothing are left out."""
    said = {name: value for name, value in sorted(args.items()) if value not in (None, False, "", 0, [], ())}
    return f"{q}|{json.dumps(said, separators=(',', ':'), ensure_ascii=False)}"


def record(host: Host) -> Recording:
    """Look at a session, in its own thread."""
    slices = dict(host.shown())
    slices["status"] = {**slices["status"], "load": None}  # what the machine did then is of no use to a reader
    return Recording(slices, _selections(host), list(_questions(host)))


def _selections(host: Host) -> Callable[[], dict[str, dict[str, Any]]]:
    view, state = host.state.view(), copy(host.state)  # a state of its own, on which anything may be selected

    def work() -> dict[str, dict[str, Any]]:
        out: dict[str, dict[str, Any]] = {}
        if view is None:
            return out
        nest = nest_slice(view.schedule.func, state.target)
        rows = [row["id"] for row in nest["rows"][:MOST_ROWS]]
        for state.selected in ["", *rows, *(name for name in nest["buffers"] if name in known(nest))]:
            context = SliceContext(state, view, None, nest, slice_cache())
            out[state.selected] = {name: one.make(context) for name, one in SLICES.items() if one.by_selection}
        return out

    return work


def _questions(host: Host) -> Iterator[Asked]:
    """Ask what is on show when a panel is opened; a question that cannot even be asked is answered with the reason."""
    slices = host.shown()
    for q, args in (one for ask in RECORDED for one in ask(slices)):
        if q not in QUESTIONS:
            continue
        try:
            value, lane = answer(host, q, args)
        except Exception as error:
            yield q, args, {"ok": False, "error": error_json(error)}
            continue
        yield q, args, value if lane else {"ok": True, "value": value}


def _answer(work: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"ok": True, "value": work()}
    except Exception as error:
        return {"ok": False, "error": error_json(error)}

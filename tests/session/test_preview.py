"""The question "preview": what a step would make of the nest, without taking it."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from workbench import Schedule, Target, workloads
from workbench.advice.step_legality import attempt
from workbench.analysis import estimate, nest_rows
from workbench.schedule.primitive import from_json
from workbench.session.core.encoding import lean
from workbench.session.schedule_view import preview as module
from workbench.session.schedule_view.preview import preview
from workbench.space.default_schedule import default_schedule

LIMIT = 4096


def split(loop: str, *factors: Any) -> dict[str, Any]:
    return {"primitive": "split", "args": {"loop": loop, "factors": list(factors)}}


def ask(session: Any, step: object, **more: object) -> dict[str, Any]:
    done, found = threading.Event(), []
    session.ask("preview", {"step": step, **more}, lambda message: (found.append(message), done.set()))
    assert done.wait(20)
    return dict(found[0])


def whole(schedule: Schedule, answer: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of the nest after the step, from those of the nest before it and the answer."""
    rows = {r["id"]: r for r in lean(nest_rows(schedule.func, schedule.target).to_json())["rows"]}
    for change in answer["rows"]:
        usual = {**module.USUAL, "name": change["id"]}
        rows[change["id"]] = {**rows.get(change["id"], usual), **change}
    return [rows[i] for i in answer["order"]]


@pytest.fixture
def conv() -> Schedule:
    return Schedule(workloads.conv2d_nhwc(8, 8, 16, 16), Target.host())


def test_the_answer_is_the_nest_after_the_step(conv: Schedule) -> None:
    answered = 0
    for move in conv.moves("o") + conv.moves("c") + conv.moves("pad"):
        answer = preview(conv, move.step).to_json()
        assert answer["verdict"]["legal"] is move.legal, move
        if not move.legal:
            assert (answer["rows"], answer["order"], answer["verdict"]["code"]) == ([], [], move.code)
            continue
        after = conv.copy()
        assert tuple(answer["makes"]) == after.apply(move.step)
        want = lean(nest_rows(after.func, after.target).to_json())["rows"]
        assert whole(conv, answer) == [{k: module._short(v) for k, v in row.items()} for row in want], move
        answered += 1
    assert answered > 30


def test_what_goes_and_what_changes_most_is_named(conv: Schedule) -> None:
    seen = preview(conv, from_json(split("c", None, 4)))
    assert seen.gone == ("c",)
    after = {r.id: r.working_set for r in seen.after}
    old = {r.id: r.working_set for r in seen.before if r.kind == "loop"}
    assert {row for row, _, _ in seen.working_sets} >= {"c.0", "c.1"}
    for row, before, then in seen.working_sets:
        assert (before, then) == (old.get(row), after[row]), "a loop is compared with itself, a new one with nothing"


def test_an_open_number_is_previewed_as_one(conv: Schedule) -> None:
    answer = preview(conv, from_json(split("c", None, {"hole": None}))).to_json()
    assert next(r["extent"] for r in answer["rows"] if r["id"] == "c.1") == "?c_1"


def test_an_open_choice_is_previewed_by_its_first_legal_value(conv: Schedule) -> None:
    seen = preview(conv, from_json({"primitive": "unroll", "args": {"loop": {"hole": None, "choices": ["kh", "kw"]}}}))
    assert next(r.mark for r in seen.after if r.id == "kh") == "unroll"


def test_the_estimate_is_that_of_the_schedule_after_the_step(conv: Schedule) -> None:
    step = from_json(split("c", None, 4))
    seen = preview(conv, step, peak_gflops=100.0)
    after = conv.copy()
    after.apply(step)
    assert seen.estimate == estimate(after, conv.target, peak_gflops=100.0)
    assert seen.to_json()["estimate"] == seen.estimate.to_json()
    assert seen.present == estimate(conv, conv.target, peak_gflops=100.0)
    assert seen.to_json()["before"] == seen.present.to_json()
    refused = preview(conv, from_json({"primitive": "vectorize", "args": {"loop": "c"}}), peak_gflops=100.0)
    assert refused.to_json()["before"] is None


def test_a_preview_is_worked_out_once(conv: Schedule, monkeypatch: pytest.MonkeyPatch) -> None:
    step, calls = from_json(split("c", None, 2)), []
    monkeypatch.setattr(module, "attempt", lambda *a: calls.append(a) or pytest.fail("worked out twice"))
    with pytest.raises(pytest.fail.Exception):
        preview(conv, step)
    monkeypatch.undo()
    first = preview(conv, step)
    monkeypatch.setattr(module, "attempt", lambda *a: pytest.fail("worked out twice"))
    assert preview(conv.copy(), step) is first


def test_the_question_is_answered_in_order_and_small(session: Any) -> None:
    s = session()
    loop = s.schedule.loops[0].name
    answer = ask(s, split(loop, None, 2))
    assert answer["ok"]
    assert len(json.dumps(answer)) < LIMIT
    assert not s.schedule.trace, "nothing was taken"
    refused = ask(s, {"primitive": "nonsense", "args": {}})
    assert refused["error"]["code"] == "primitive.unknown"


def test_who_tries_a_step_and_takes_it_gets_the_same_function(conv: Schedule) -> None:
    step = from_json(split("c", None, 4))
    _, tried, names = attempt(conv, step)
    taken = conv.copy()
    assert taken.apply(step) == names
    assert tried is not None
    assert taken.func is tried.func
    notes = [from_json({"primitive": "annotate", "args": {"at": "c.0", "key": "n", "value": n}}) for n in (1, "1")]
    number, text = (attempt(taken, note)[1] for note in notes)
    assert number is not None
    assert text is not None
    assert number.func is not text.func


def test_previews_of_a_deep_nest_stay_within_the_limit() -> None:
    deep = default_schedule(workloads.conv2d_nhwc(28, 28, 64, 64), Target.host())
    sizes = {}
    for loop in deep.loops[::3]:
        for move in deep.moves(loop.name):
            if move.legal:
                sizes[str(move)] = len(json.dumps(preview(deep, move.step).to_json()))
    worst = max(sizes, key=sizes.__getitem__)
    assert sizes[worst] < LIMIT, worst


def test_of_several_steps_the_nest_after_all_of_them_is_shown(session: Any) -> None:
    s = session(workloads.matmul(32, 32, 32), auto_measure=False)
    reorder = {"primitive": "reorder", "args": {"loops": ["k", "j"]}}
    vectorize = {"primitive": "vectorize", "args": {"loop": "j"}}
    view = s.schedule.copy()
    answer = ask(s, reorder, then=[vectorize])["value"]
    after = view.copy().reorder("k", "j").vectorize("j")
    assert whole(view, answer) == lean(nest_rows(after.func, s.state.target).to_json())["rows"]
    refused = ask(s, reorder, then=[{"primitive": "vectorize", "args": {"loop": "k"}}])["value"]["verdict"]
    assert (refused["legal"], refused["where"][0]) == (False, "k")
    assert ask(s, reorder, then="j")["error"]["code"] == "session.arguments"

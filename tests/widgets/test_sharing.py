"""Views and pages that somebody else opens: the same program, variants and panels, and times of here beside theirs."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from workbench import Schedule, Target, Task, open_page, workloads
from workbench.errors import ScheduleError, UsageError
from workbench.schedule import Hole
from workbench.session.state import results as measuring
from workbench.session.state.results import Result
from workbench.widgets import Workbench

HERE = Target.host(threads=1)
ELSEWHERE = Target("llvm", cpu="x86-64-v3", triple="x86_64-unknown-linux-gnu", threads=2)


def matmul(n=64):
    return workloads.matmul(n, 64, 64)


@pytest.fixture
def opened(monkeypatch):
    """Opens workbenches that measure without a compiler, and closes them."""
    made = []
    monkeypatch.setattr(measuring, "measure", lambda view, *_: Result("ok", 1.0 + len(view.trace), 0.02, 3.0))
    monkeypatch.setattr(Target, "peak_gflops", lambda self, remeasure=False: 100.0)

    def make(*subject, **options):
        made.append(Workbench(*subject, auto_measure=False, **options))
        return made[-1]

    make.made = made
    yield make
    for w in made:
        w.close()


@pytest.fixture
def sent(opened):
    """A workbench of two tasks in which something was done."""
    w = opened([Task.of_func(matmul(n), HERE) for n in (64, 32)])
    w.open_task(0)
    w.schedule.split("i", [None, 8])
    w.measure()
    w.undo()
    w.schedule.split("j", [None, 16])
    w.schedule.unroll("j.1")
    w.measure().name(3, "wide")
    w.selection = "j.0"
    w._receive(w, {"t": "screen", "screen": {"tab": "schedule", "middle": "code", "code": "asm", "whole": ""}}, [])
    return w


def shown(w):
    rows = w.session.snapshot().slices["history"]["rows"]
    return [[row[k] for k in ("id", "parent", "text", "name", "star")] for row in rows], w.variants.at


def posted(view):
    """As it comes out of a file."""
    return json.loads(json.dumps(view))


@pytest.mark.parametrize("subject", [(), (matmul(),), ([Task.of_func(matmul(n), HERE) for n in (32, 64)],)])
def test_another_person_sees_the_same(opened, sent, subject, tmp_path):
    file = tmp_path / "v.json"
    file.write_text(json.dumps(sent.view()))
    w = opened(*subject, view=file)
    assert shown(w) == shown(sent)
    assert w.schedule.to_json() == sent.schedule.to_json()
    assert w.task.key == sent.task.key
    assert w.selection == "j.0"
    assert w.screen == {"tab": "schedule", "middle": "code", "code": "asm", "whole": "", "turn": 1}
    assert posted(w.view())["screen"] == posted(sent.view())["screen"]


def test_the_file_of_the_export_is_a_view(opened, sent):
    text = sent.export("view")
    w = opened(view=json.loads(text))
    assert shown(w) == shown(sent)
    with pytest.raises(UsageError, match="of a screen") as e:
        w.export("view", screen={"middle": "<b>"})
    assert e.value.code == "view.file"


def test_a_view_is_shown_where_something_else_is_open_and_a_second_time(opened, sent):
    w = opened(matmul(48))
    w.open_view(sent.view())
    assert [t.name for t in w.tasks] == ["matmul 48x64 64x64 48x64", "matmul 64x64 64x64 64x64"]
    assert shown(w) == shown(sent)
    w.goto(0).open_view(sent.view())
    assert (shown(w)[1], w.screen["turn"]) == (3, 2)
    assert len(w.variants) == 4, "nothing is there twice"


def test_a_shared_schedule_goes_where_the_view_is(opened, sent):
    s = Schedule(matmul(), HERE)
    opened(s, view=sent.view())
    assert s.to_json() == sent.schedule.to_json()


def test_holes_and_no_steps_travel_too(opened):
    w = opened(matmul())
    assert not opened(view=posted(w.view())).schedule.trace
    w.schedule.split("k", [None, Hole("tk")])
    assert opened(view=posted(w.view())).variants[1].to_json() == w.schedule.to_json()


def test_what_the_sender_saw_stands_beside_what_is_measured_here(opened, sent, monkeypatch):
    """The name of the model, and how fast a variant was beside the one before, also after it was measured here."""
    sent.session.state.opened = replace(sent.session.state.opened, title="a net")
    view = posted(sent.view())
    told = [node.get("than") for node in view["tasks"][0]["nodes"]]
    assert told[0] is None
    measured = [node for node in view["tasks"][0]["nodes"] if node.get("ms")]
    assert len(measured) == 2
    view["tasks"][0]["nodes"][1] |= {"than": "2.29× as fast as the one before"}
    monkeypatch.setattr(measuring, "measure", lambda view, *_: Result("ok", 7.0, 0.02, 3.0))
    w = opened(view=view)
    assert w.session.snapshot().slices["meta"]["title"] == "a net"
    assert posted(w.view())["title"] == "a net"
    w.goto(1).measure()
    head = w.session.snapshot().slices["head"]
    assert head["ms"] == pytest.approx(7.0)
    assert head["remark"].endswith("2.00\u202fms when it was sent, 2.29× as fast as the one before")
    assert opened(view=posted(w.view())).variants.at == 1
    view["tasks"][0]["nodes"][1] |= {"than": 3}
    with pytest.raises(UsageError, match="tasks") as e:
        opened(view=view)
    assert e.value.code == "view.file"


def test_the_words_of_a_comparison_travel(opened, sent):
    state = sent.session.state
    for key in [node.key for node in state.history.trees[0].nodes.values()][:2]:
        state.history.results[key] = Result("ok", 4.0 if key[1] == state.history.trees[0].node(0).key[1] else 2.0, 0.01)
    told = [node.get("than") for node in posted(sent.view())["tasks"][0]["nodes"]]
    assert told[1].startswith("2.00× as fast as the one before")


def test_times_of_this_machine_are_taken_over_whatever_threads_it_has(opened, sent):
    """The target of a view is that of its times, where it is this machine: not this machine with all its threads."""
    view = posted(sent.view()) | {"constants": "shared"}
    assert str(HERE) == view["target"]
    w = opened(view=view)
    assert str(w.session.state.target) == view["target"]
    assert list(w.variants.frame()["ms"].dropna()) == [2.0, 3.0]


@pytest.mark.parametrize("target", [str(ELSEWHERE), "llvm -threads=99999", "llvm -threads=0", "", "-threads=1"])
def test_times_of_other_conditions_stand_beside_the_variants(opened, sent, target):
    view = posted(sent.view()) | {"target": target}
    w = opened(view=view)
    assert str(w.session.state.target) == str(Target.host())
    frame = w.variants.frame()
    assert frame["ms"].notna().sum() == 0
    assert [text for text in frame["remark"] if text] == [
        f"{ms}\u202fms measured there, for {target or 'another target'}" for ms in ("2.00", "3.00")
    ]
    slices = w.session.snapshot().slices
    assert slices["head"]["remark"] == frame["remark"][3]
    assert "its times were measured for" in slices["status"]["note"]["text"]
    w.measure()
    frame = w.variants.frame()
    said = f"3.00\u202fms measured there, for {target or 'another target'}"
    assert (frame["ms"][3], frame["remark"][3]) == (3.0, said), "beside what is measured here"


def test_times_with_constants_found_elsewhere_say_so(opened, sent):
    view = posted(sent.view()) | {"constants": "near"}
    w = opened([Task.of_func(matmul(n), HERE) for n in (64, 32)])
    w.open_view(view)
    assert w.variants.frame()["ms"].notna().sum() == 0
    assert "with constants “near”" in w.variants.frame()["remark"][3]


def change(**parts):
    return lambda view: view | parts


@pytest.mark.parametrize(
    ("code", "damage"),
    [
        ("view.file", lambda view: {"view": view}),
        ("view.file", change(kind="variants")),
        ("view.file", change(schema=2)),
        ("view.file", change(trace="split")),
        ("view.file", change(constants="far")),
        ("view.file", change(selected=3)),
        ("view.file", change(tasks=[{"key": "x"}])),
        ("view.file", change(screen={"tab": "other"})),
        ("view.file", change(screen={"middle": "<script>"})),
        ("view.file", change(screen={"compare": [1, "2"]})),
        ("view.file", change(screen={"unknown": "x"})),
        ("view.program", lambda view: view | {"tasks": [t | {"program": "import os"} for t in view["tasks"]]}),
        ("view.program", lambda view: view | {"tasks": [t | {"key": "0"} for t in view["tasks"]]}),
        ("view.program", lambda view: view | {"tasks": [t for t in view["tasks"] if t.pop("program")]}),
        ("view.steps", change(trace=[{"primitive": "split", "args": {"loop": "q", "factors": [None, 8]}}])),
        ("view.steps", change(trace=[{"primitive": "nothing", "args": {}}])),
        ("view.steps", change(trace=[3])),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_view_is_told(opened, sent, code, damage):
    view = damage(posted(sent.view()))
    with pytest.raises((UsageError, ScheduleError)) as e:
        opened(view=view)
    assert e.value.code == code
    before = shown(sent)
    if code == "view.steps":
        with pytest.raises(ScheduleError):
            sent.open_view(view)
        assert shown(sent) == before, "what was on show stays"


def test_a_file_that_is_none(opened, tmp_path):
    with pytest.raises(UsageError) as e:
        opened(view=tmp_path / "no.json")
    assert e.value.code == "view.missing"
    (tmp_path / "a.json").write_text("[" * 100_000)
    with pytest.raises(UsageError) as e:
        opened(view=tmp_path / "a.json")
    assert e.value.code == "view.file"


def test_a_browser_that_says_nonsense_says_nothing(sent):
    before = sent.view()["screen"]
    for screen in (None, 3, {"tab": "<b>"}, {"tab": ["schedule"]}, {"compare": "ab"}):
        sent._receive(sent, {"t": "screen", "screen": screen}, [])
    assert sent.view()["screen"] == before
    for tab in ("tuning", "profile", "schedule"):
        sent._receive(sent, {"t": "screen", "screen": {"tab": tab}}, [])
        assert sent.view()["screen"]["tab"] == tab


def test_tasks_of_a_view_are_called_as_often_as_there(opened):
    tasks = [replace(Task.of_func(matmul(n), HERE), weight=n // 16) for n in (64, 32)]
    sent = opened(tasks)
    for k in (0, 1):
        sent.open_task(k)
        sent.measure()
    view = sent.view()
    for found in (opened(view=view, target=HERE), opened([Task.of_func(matmul(16), HERE)])):
        found.open_view(view)
        told = {row["key"]: row["weight"] for row in found.session.snapshot().slices["tasks"]["rows"]}
        assert told[tasks[1].key] == 2, "that on show"
        assert told.get(tasks[0].key, 4) == 4, "a workbench that is open gets the task on show alone"
    for wrong in (0, True, "3", 10**12):
        with pytest.raises(UsageError) as e:
            opened(view={**view, "tasks": [{**one, "weight": wrong} for one in view["tasks"]]}, target=HERE)
        assert e.value.code == "view.file"


# ----- pages


@pytest.fixture
def page(sent, tmp_path):
    return sent.export("html", tmp_path / "p.html", charts=False)


def test_a_page_is_measured_here(opened, sent, page, monkeypatch):
    monkeypatch.setattr(measuring, "measure", lambda view, *_: Result("ok", 10.0 * (1 + len(view.trace)), 0.02, 3.0))
    found = open_page(page, target=HERE)
    opened.made.append(found.workbench)
    assert found.there == str(HERE)
    assert [(r.variant, r.there_ms) for r in found] == [(0, None), (1, 2.0), (2, None), (3, 3.0)]
    assert found.measure() is found
    frame = found.frame()
    assert list(frame["here_ms"].dropna()) == [20.0, 30.0]
    assert list(frame["ratio"].dropna()) == [10.0, 10.0]
    assert frame.loc[3, "name"] == "wide"
    assert shown(found.workbench)[1] == 3, "what is on show is what the page shows"
    html = found._repr_html_()
    assert "wide" in html
    assert "10" in html
    third = repr(found).splitlines()[3]
    assert "3.00 ms ± 0.03 there" in third
    assert "30.0 ms ± 0.3 here" in third
    assert "10×" in third, "times here over times there"
    assert "3.00 ms ± 0.03" in html
    assert found.measure([2])[2].here_ms == 20.0
    with pytest.raises(UsageError) as e:
        found.measure([9])
    assert e.value.code == "session.variant"


def test_a_table_of_a_page_says_which_times_were_disturbed_there_and_here(opened, sent, tmp_path, monkeypatch):
    state = sent.session.state
    key = state.variant(3).key
    sent._ask(lambda: state.history.results.update({key: replace(state.history.results[key], why_not="a busy core")}))
    found = open_page(sent.export("html", tmp_path / "q.html", charts=False), target=HERE)
    opened.made.append(found.workbench)
    assert "(there a busy core)" in repr(found)
    loud = Result("ok", 9.0, 0.02, 3.0, why_not="another program", at_least_ms=8.0)
    monkeypatch.setattr(measuring, "measure", lambda *_: loud)
    for _ in range(2):  # measured again, it is said once
        found.measure([3])
        assert repr(found).splitlines()[3].endswith("(there a busy core; here another program)")


def test_of_a_page_without_times_what_is_on_show_is_measured(opened, tmp_path):
    page = opened(matmul()).export("html", tmp_path / "p.html", charts=False)
    found = open_page(page, target=HERE)
    opened.made.append(found.workbench)
    assert [row.here_ms for row in found.measure()] == [1.0]


def test_what_fails_here_says_so(opened, page, monkeypatch):
    monkeypatch.setattr(measuring, "measure", lambda *_: Result("build_error", error="no compiler"))
    found = open_page(page, target=HERE)
    opened.made.append(found.workbench)
    assert found.measure()[3].status == "build_error"
    assert "build error" in found._repr_html_()


def test_what_is_no_page(opened, page, tmp_path):
    other = tmp_path / "o.html"
    for text in ("", "<html>", page.read_text().replace('"view":{', '"view_":{')):
        other.write_text(text)
        with pytest.raises(UsageError) as e:
            open_page(other)
        assert e.value.code == "page.file"
    with pytest.raises(UsageError) as e:
        open_page(tmp_path / "no.html")
    assert e.value.code == "page.missing"

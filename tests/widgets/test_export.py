"""What can be taken away: scripts, steps, tables, drawings, and what is said when there is nothing."""

from __future__ import annotations

import base64
import csv
import io
import json
import threading
import xml.etree.ElementTree as ET
from types import SimpleNamespace

import pytest

from workbench import Hole, Schedule, Session, Target, Task, Workbench, workloads
from workbench.errors import UsageError
from workbench.log import Record
from workbench.session.export.drawings import draw
from workbench.session.export.exporters import slug
from workbench.widgets.export import made

TARGET = Target("llvm", cpu="x86-64-v3", triple="x86_64-unknown-linux-gnu", threads=2)
HOSTILE = '<script>alert("1")</script> & """ \\ \n end'


@pytest.fixture
def schedule():
    s = Schedule(workloads.matmul(64, 64, 64), TARGET)
    s.split("j", [None, 16])
    s.unroll("j.1")
    return s


@pytest.fixture
def session(schedule):
    session = Session(schedule, auto_measure=False)
    yield session
    session.close()


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def refused(session, **args):
    with pytest.raises(UsageError) as caught:
        made(session, args)
    return caught.value


def test_steps_can_be_read_back(session, schedule):
    file = made(session, {"what": "trace"})
    assert file.name == "matmul-64x64-64x64-64x64.v2.json"
    value = json.loads(file.text)
    assert Schedule.from_json(workloads.matmul(64, 64, 64), value["trace"]).func == schedule.func
    assert value["target"] == str(TARGET)
    assert [v["text"] for v in value["variants"]] == ["as written", "split('j', [None, 16])", "unroll('j.1')"]


def test_names_and_stars_are_in_the_steps(session):
    session.run("name", node=1, text="first idea")
    session.run("star", node=1, on=True)
    kept = json.loads(made(session, {"what": "trace"}).text)["variants"][1]
    assert (kept["name"], kept["star"]) == ("first idea", True)


def test_a_script_says_what_was_measured_and_how(session):
    from workbench.session.state.results import Result

    key = session.state.variant().key
    session.run(lambda: session.state.history.results.update({key: Result("ok", 0.5123, 0.01, 1.0)}))
    text = made(session, {"what": "script"}).text
    assert "# Measured there: 0.5123 ms, spread 1 %." in text
    session.run("name", node=None, text="as a friend wrote it")
    assert ": v2 (as a friend wrote it), written by" in made(session, {"what": "script"}).text
    assert "s.reproduce(0.5123, spread=0.01, repeat=None, min_repeat_ms=None, flush_cache=False, " in text
    assert "constants='near', " in text
    assert "seed=0" in text
    failed = Result("wrong_answer", error="42")
    session.run(lambda: session.state.history.results.update({key: failed}))
    assert "# Measuring it there failed: wrong answer." in made(session, {"what": "script"}).text


@pytest.mark.parametrize(
    ("ms", "spread", "said", "code"),
    [
        (0.25, 0.01, "2.05× as fast as recorded", 2),
        (2.0, 0.01, "3.90× slower than recorded", 1),
        (0.5, 0.01, "the same within ±8 %", 0),
        (0.7, 0.01, "1.37× slower than recorded", 1),
        (0.7, 0.3, "the same within ±39 %", 0),
    ],
)
def test_a_script_says_whether_its_number_came_out_again(session, capsys, monkeypatch, ms, spread, said, code):
    from workbench.runtime.results.measurement import Measurement
    from workbench.runtime.results.reproduction import reproduce
    from workbench.session.state.results import Result

    key = session.state.variant().key
    session.run(lambda: session.state.history.results.update({key: Result("ok", 0.5123, spread, 1.0)}))
    _, _, last = made(session, {"what": "script"}).text.partition('if __name__ == "__main__":')
    found = Measurement(status="ok", costs_ms=(ms,) * 5 + (1.01 * ms,) * 2)
    s = SimpleNamespace(reproduce=lambda ms, spread, **options: reproduce(lambda: found, ms, spread))
    monkeypatch.setattr("workbench.runtime.results.reproduction.load_average", lambda: 0.0)
    with pytest.raises(SystemExit) as ended:
        exec(f"if True:{last}", {"s": s})
    assert said in capsys.readouterr().out
    assert ended.value.code == code


def test_a_script_of_a_trial_measures_as_the_tuner_did(session, schedule):
    key, other = session.state.infos[0].key, schedule.copy().parallel("i")
    record = Record(
        task_key=key, task="matmul", trial=7, status="ok", target=str(TARGET), trace=tuple(other.to_json()),
        latency_ms=0.25, seed=3, caches="constants in memory", timestamp=1.0, costs_ms=(0.25, 0.26),
    )  # fmt: skip
    session.run(lambda: session.state.stats.add([record]))
    session.run("open_trial", trial=7)
    text = made(session, {"what": "script"}).text
    assert "constants='memory'" in text
    assert "seed=3" in text


def test_open_numbers_are_not_measured(schedule):
    s = Schedule(workloads.matmul(64, 64, 64), TARGET)
    s.split("j", [None, Hole("tile")])
    session = Session(s, auto_measure=False)
    text = made(session, {"what": "script"}).text
    session.close()
    assert "measure(" not in text
    assert "# Left open, so that there is nothing to measure yet: j_0, tile." in text


def test_tables(session):
    variants = table(made(session, {"what": "csv"}).text)
    assert [v["text"] for v in variants] == ["as written", "split('j', [None, 16])", "unroll('j.1')"]
    assert [v["current"] for v in variants] == ["False", "False", "True"]
    nest = table(made(session, {"what": "csv", "panel": "nest"}).text)
    assert [r["name"] for r in nest if r["kind"] == "loop"] == ["i", "j.0", "j.1", "k"]
    assert [r["depth"] for r in nest if r["kind"] == "loop"] == ["0", "1", "2", "3"]
    (task,) = table(made(session, {"what": "csv", "panel": "tasks"}).text)
    assert (task["name"], task["weight"]) == ("matmul 64x64 64x64 64x64", "1")
    assert table(made(session, {"what": "csv", "panel": "trials"}).text) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("panel", ["nest", "variants", "stages", "tasks"])
def test_drawings_are_svg_with_what_the_panel_says(session, panel, theme):
    file = made(session, {"what": "svg", "panel": panel, "theme": theme})
    root = ET.fromstring(file.text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert (file.name, file.mime) == (f"matmul-64x64-64x64-64x64.{panel}.svg", "image/svg+xml")
    words = {"nest": "j.0", "variants": "v2", "stages": "float32", "tasks": "matmul 64x64 64x64 64x64"}
    assert words[panel] in "".join(root.itertext())
    width, height = float(root.get("width")), float(root.get("height"))
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        assert 0 <= float(text.get("x")) <= width
        assert 0 <= float(text.get("y")) <= height


def test_the_network_can_be_drawn(tmp_path):
    from browser.driver import tiny_model

    tiny_model(tmp_path / "tiny.onnx")
    session = Session(str(tmp_path / "tiny.onnx"), target=TARGET, auto_measure=False)
    text = made(session, {"what": "svg", "panel": "graph"}).text
    names = [r["name"] for r in table(made(session, {"what": "csv", "panel": "tasks"}).text)]
    session.close()
    assert "conv 3×3 8→16" in "".join(ET.fromstring(text).itertext())
    assert len(names) == 5


def test_hostile_names_stay_text(session):
    slices = dict(session.snapshot().slices)
    rows = [{**row, "text": HOSTILE, "name": HOSTILE} for row in slices["history"]["rows"]]
    slices |= {"history": {**slices["history"], "rows": rows}, "head": {**slices["head"], "name": HOSTILE}}
    root = ET.fromstring(draw(slices, "variants"))
    assert "alert(" in "".join(root.itertext())
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))


def test_a_hostile_title_stays_a_comment():
    func = workloads.matmul(8, 8, 8)
    session = Session(Task.of_func(func, TARGET, name=HOSTILE), auto_measure=False)
    text = made(session, {"what": "script"}).text
    session.close()
    space = {"__name__": "script", "print": lambda *_: None}
    exec(compile(text, "script.py", "exec"), space)
    assert space["s"].base == func


def test_what_cannot_be_exported_says_why(session):
    assert refused(session, what="svgg").code == "export.what"
    assert "svg" in refused(session, what="svgg").hint
    assert refused(session, what="png").code == "export.png"
    assert "svg" in refused(session, what="png").hint
    assert refused(session, what="csv", panel="trails").code == "export.panel"
    assert refused(session, what="svg", panel="chart").code == "export.panel"
    assert refused(session, what="svg", panel="graph").code == "session.no_model"
    assert refused(session, what="svg", theme="blue").code == "export.theme"
    assert refused(session, what="script", node=77).code == "session.variant"
    assert refused(session, what="script", node="x").code in ("session.variant", "usage.type")


def test_of_a_log_there_are_tables_but_no_script(tmp_path):
    from workbench.log import Header

    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps(Header(tasks=(("k", "a task"),)).to_json()) + "\n")
    session = Session(str(path))
    try:
        assert refused(session, what="script").code == "session.no_program"
        assert table(made(session, {"what": "csv", "panel": "variants"}).text) == []
        assert [r["name"] for r in table(made(session, {"what": "csv", "panel": "tasks"}).text)] == ["a task"]
    finally:
        session.close()


def test_the_question_has_the_same_answer(session):
    done, found = threading.Event(), []
    session.ask("export", {"what": "csv", "panel": "nest"}, lambda message: (found.append(message), done.set()))
    assert done.wait(20)
    file = made(session, {"what": "csv", "panel": "nest"})
    assert found == [{"ok": True, "value": {"name": file.name, "mime": "text/csv", "text": file.text}}]


def test_a_workbench_writes_files(comms, schedule, tmp_path):
    w = Workbench(schedule, auto_measure=False)
    path = w.export("script", tmp_path)
    assert path == tmp_path / "matmul-64x64-64x64-64x64.v2.py"
    assert path.read_text() == w.export("script")
    assert w.export("script", tmp_path) == tmp_path / "matmul-64x64-64x64-64x64.v2-2.py"
    assert w.export("csv", tmp_path / "a.csv", panel="nest").read_text() == w.export("csv", panel="nest")
    with pytest.raises(UsageError, match="no option 'nod'") as caught:
        w.export("script", nod=1)
    assert "node" in caught.value.hint
    with pytest.raises(UsageError) as caught:
        w.export("script", tmp_path / "absent" / "a.py")
    assert caught.value.code == "export.path"
    w.close()


def asked(session, **args):
    done, found = threading.Event(), []
    session.ask("export", args, lambda message: (found.append(message), done.set()))
    assert done.wait(60)
    return found[0]


def test_a_file_beside_the_notebook_replaces_nothing(session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "matmul-64x64-64x64-64x64.v2.py").write_text("mine")
    first, second = (asked(session, what="script", keep=True)["value"] for _ in range(2))
    assert [first["name"], second["name"]] == [f"matmul-64x64-64x64-64x64.v2-{n}.py" for n in (2, 3)]
    assert first["path"] == str(tmp_path / first["name"])
    assert (tmp_path / second["name"]).read_text() == made(session, {"what": "script"}).text
    assert (tmp_path / "matmul-64x64-64x64-64x64.v2.py").read_text() == "mine"


def test_pixels_of_the_browser_are_kept(session, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pixels = b"\x89PNG\r\n\x1a\n..."
    args = {"what": "png", "panel": "../ne st", "data": base64.b64encode(pixels).decode(), "keep": True}
    found = asked(session, **args)["value"]
    assert found["name"] == "matmul-64x64-64x64-64x64.ne-st.png"
    assert (tmp_path / found["name"]).read_bytes() == pixels
    for wrong in ("***", base64.b64encode(b"GIF89a").decode()):
        assert asked(session, **{**args, "data": wrong})["error"]["code"] == "export.png"
    assert asked(session, **{**args, "keep": False})["error"]["code"] == "export.file"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_folder_that_cannot_be_written_is_told(session, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    found = asked(session, what="script", keep=True)
    assert not found["ok"]
    assert found["error"]["code"] == "export.path"


def test_names_of_files_are_harmless():
    assert slug("../a b\\c:*?.onnx") == "a-b-c"
    assert slug("") == slug("→") == "workbench"
    assert len(slug("x" * 500)) == 100

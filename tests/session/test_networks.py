"""A network to take away: the fastest schedule of each task, whoever found it, in a script and in a library."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from browser.driver import tiny_model

from workbench import Session, Target, load_exported, load_onnx, workloads
from workbench import compile as compile_network
from workbench.errors import UsageError
from workbench.graph.graph import Source
from workbench.labs import example_model
from workbench.log import Comparison, Record
from workbench.runtime.export import linker
from workbench.session.export import network as networks
from workbench.session.export.exporters import kept
from workbench.session.state.results import Result
from workbench.space.default_schedule import default_schedule
from workbench.tune.options import TuneOptions
from workbench.widgets.export import export, made

TARGET = Target.host(threads=1)


def has_linker():
    try:
        linker.find_linker()
    except Exception:
        return False
    return sys.platform == "linux"


needs_linker = pytest.mark.skipif(not has_linker(), reason="no linker")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "tiny.onnx"
    tiny_model(path)
    return path


@pytest.fixture(scope="module")
def session(model):
    """All tasks but the last one were tuned; the second one was done better by hand, the third one worse."""
    session = Session(str(model), target=TARGET, auto_measure=False)
    caches = TuneOptions(constants=session.state.constants).caches
    records = [replace(trial(task, n, 0.2 + n / 100), caches=caches) for n, task in enumerate(session.tasks[:-1])]
    session.run(lambda: session.state.stats.add([*records, replace(records[0], trial=99, latency_ms=0.1, key="x")]))
    for task, ms in ((1, 0.15), (2, 0.9)):
        session.run("open_task", task=task)
        session.schedule.parallel(session.schedule.func.body[0].name)
        session.flush()
        key = session.state.variant().key
        session.run(lambda key=key, ms=ms: session.state.history.results.update({key: Result("ok", ms, 0.02, 1.0)}))
    yield session
    session.close()


def trial(task, number, ms):
    steps = tuple(default_schedule(task.func, TARGET).to_json())
    return Record(
        task_key=task.key, task=task.name, trial=number, status="ok", target=str(TARGET), trace=steps, latency_ms=ms,
        weight=task.weight, timestamp=float(number), costs_ms=(ms, ms), caches="constants in memory",
    )  # fmt: skip


def test_the_fastest_of_each_task_whoever_found_it(session):
    found = networks.fastest(session.state)
    assert [(r.trial, r.origin, r.latency_ms) for r in found] == [
        (99, "", 0.1), (-1, "manual", 0.15), (2, "", 0.22), (3, "", 0.23)
    ]  # fmt: skip
    assert [step["primitive"] for step in found[1].trace] == ["parallel"]
    assert [r.task_key for r in found] == [t.key for t in session.tasks[:-1]]


def test_the_best_of_the_tuner_is_exported_without_being_opened(session):
    session.run("open_task", task=1)
    before = session.state.variant().id
    script = made(session, {"what": "script", "node": "tuner"})
    found = session.state.stats.of(session.tasks[1].key).best
    best = found.record
    assert script.name.endswith(f".trial-{best.trial}.py")
    assert f"Measured there: {found.ms:.5g} ms" in script.text
    steps = json.loads(made(session, {"what": "trace", "node": "tuner"}).text)
    assert (steps["trace"], steps["variant"]) == (list(best.trace), None)
    assert session.state.variant().id == before
    session.run("open_task", task=4)
    with pytest.raises(UsageError, match="No trial of this task was valid"):
        made(session, {"what": "script", "node": "tuner"})


def test_the_script_compiles_the_network_with_them(session, monkeypatch, capsys):
    file = made(session, {"what": "network"})
    assert file.name == "tiny.network.py"
    assert "# Schedules of 4 of its 5 tasks; their times there, as often as they occur: 0.7 ms." in file.text
    given = {}

    def compiled(graph, log, target):
        given.update(graph=graph, log=log, target=target)
        net = given["net"] = compile_network(graph, log, target)
        return net

    monkeypatch.setattr("workbench.compile", compiled)
    monkeypatch.setattr(sys, "argv", ["tiny.network.py"])
    exec(compile(file.text, file.name, "exec"), {"__name__": "__main__", "__file__": file.name})
    assert given["target"] == str(TARGET)
    best = {r.task_key: r.trace for r in networks.fastest(session.state)}
    assert {key: given["log"].best(key, str(TARGET)).trace for key in given["log"]} == best
    assert given["net"].untuned == (session.tasks[-1].name,)
    printed = capsys.readouterr().out
    assert f"not tuned: {session.tasks[-1].name}" in printed
    assert "mean (ms)" in printed


@needs_linker
def test_the_library_computes_what_the_network_does(session, model, tmp_path, monkeypatch):
    paths = [export(session, "library", tmp_path, {}) for _ in range(2)]
    names = ["tiny-2.h", "tiny-2.so", "tiny.h", "tiny.so"]
    assert [p.name for p in paths] == ["tiny.so", "tiny-2.so"]
    assert sorted(p.name for p in tmp_path.iterdir()) == names
    image = {"x0": np.random.default_rng(0).standard_normal((1, 8, 24, 24)).astype(np.float32)}
    (found,), (wanted,) = (
        net.run(image).values() for net in (load_exported(paths[1]), compile_network(load_onnx(model)))
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-3)
    (tmp_path / "x.so").write_text("old")
    assert export(session, "library", tmp_path / "x.so", {}) == tmp_path / "x.so"  # named by who asked: replaced
    assert load_exported(tmp_path / "x.so").run(image)
    monkeypatch.chdir(tmp_path)
    told = kept(networks._library(session, {}))()
    assert (told["name"], told["beside"]) == ("tiny-3.so", "tiny-3.h"), "all that was written is named"


@needs_linker
def test_a_run_holds_while_the_network_is_compiled(session, monkeypatch):
    said = []

    class Watch:
        def hold(self):
            said.append("hold")
            return True

        def release(self):
            said.append("release")

    def refused(*args):
        said.append("compile")
        raise UsageError("usage.type", "no")

    monkeypatch.setattr(session.state, "watch", Watch())
    monkeypatch.setattr("workbench.network.compile.compile", refused)
    with pytest.raises(UsageError):
        networks._library(session, {})()
    assert said == ["hold", "compile", "release"]


def script_of(subject):
    session = Session(subject, target=TARGET, auto_measure=False)
    try:
        return made(session, {"what": "network"})
    finally:
        session.close()


def ran(file, folder, *arguments):
    """Write a script and run it elsewhere, as it is; only the benchmark is left out."""
    path = folder / file.name
    path.write_text(file.text.replace("print(net.benchmark())", "print(sorted(graph.constants), len(net.untuned))"))
    return subprocess.run([sys.executable, path, *arguments], cwd="/", capture_output=True, text=True, check=False)


def test_the_script_finds_the_model_wherever_both_are(model, tmp_path, monkeypatch):
    """One opened by a relative path, and read before; then moved together with the script."""
    monkeypatch.chdir(model.parent)
    graph = load_onnx("tiny.onnx").optimize(without="layout")
    opened, read = script_of("tiny.onnx"), script_of(graph)
    assert f"MODEL = {str(model)!r}" in opened.text
    assert f"MODEL = {str(model)!r}" in read.text
    assert "else model, {'x0': (1, 8, 24, 24)})" in read.text
    assert "TARGET, without=['layout'])" in read.text
    assert "None of its " in read.text
    assert (opened.note, read.note) == ("", "")
    done = ran(opened, tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "moved.onnx").write_bytes(model.read_bytes())
    gone = replace(read, text=read.text.replace(str(model), "/nowhere/moved.onnx"))
    done = ran(gone, tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_script_of_an_example_fills_in_the_same_weights(model, tmp_path):
    graph = example_model(str(model), seed=3, target=TARGET)
    file = script_of(graph)
    assert file.text.count("labs.example_model(model, 3, wb.Target(TARGET), {") == 1
    text = file.text.replace("    net = wb", "    print(float(graph.origin.graph.constants['w0'].sum()))\n    net = wb")
    done = ran(replace(file, text=text), tmp_path)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[0]) == pytest.approx(float(graph.origin.graph.constants["w0"].sum()))


def test_a_model_of_the_onnx_package_stays_a_name(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert load_onnx("light_squeezenet").source == Source("light_squeezenet")


def test_a_script_whose_model_was_never_a_file_says_what_it_needs(model, tmp_path):
    """Nor is a graph that was changed since what the file holds."""
    graph = load_onnx(model)
    assert graph.with_outputs([graph.nodes[0].outputs[0]]).source is None
    file = script_of(load_onnx(model.read_bytes()))
    assert file.to_json()["note"] == "it needs the model's file: python tiny.network.py MODEL.onnx"
    done = ran(file, tmp_path)
    assert (done.returncode, "say where it is: python tiny.network.py MODEL.onnx" in done.stderr) == (1, True)
    done = ran(file, tmp_path, str(model))
    assert done.returncode == 0, done.stderr


def test_the_least_time_known_is_written(session):
    """That of play-offs, which the table shows, rather than of the trial before."""
    state, key = session.state, session.tasks[3].key
    lines = [Comparison(task_key=key, task="", trials=(3, 7), latency_ms=(ms, 0.5), winner=3) for ms in (0.04, 0.041)]
    session.run(lambda: state.stats.add(lines))
    assert state.best(3).ms == 0.041, "seen twice"
    assert networks.fastest(state)[3].latency_ms == 0.041
    assert "'latency_ms': 0.041" in made(session, {"what": "network"}).text


def test_without_a_model_there_is_none():
    session = Session(workloads.matmul(8, 8, 8), auto_measure=False)
    for what in ("network", "library"):
        with pytest.raises(UsageError) as caught:
            made(session, {"what": what})
        assert caught.value.code == "session.no_model"
    with pytest.raises(UsageError) as caught:
        export(session, "library", None, {})
    assert caught.value.code == "export.path"
    session.close()

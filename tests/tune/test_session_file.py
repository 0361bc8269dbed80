"""What running sessions tell other processes of themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from workbench.errors import WorkbenchError
from workbench.log import NetworkTime
from workbench.server.sessions_handler import _steer
from workbench.tune.display import session_file
from workbench.tune.display.html import session_html
from workbench.tune.state.events import Progress, Snapshot, TaskRow
from workbench.tune.steer.control_file import read_message


class Run:
    """A session that goes as far as it is told."""

    def __init__(self, log: Path | None) -> None:
        self.log = None if log is None else str(log)
        self.state, self.trials = "running", 0

    def snapshot(self) -> Snapshot:
        row = TaskRow(0, "k", "matmul", 1, 0.5, None, self.trials, 0, 2.0, "tuning")
        progress = Progress(self.trials, 10, 3.0, 7.0, self.trials / 10, 1.0)
        return Snapshot(self.state, (row,), progress, 0.5, 2.0, 0)  # type: ignore[arg-type]


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(session_file, "EVERY_S", 0.01)
    return session_file.folder()


def test_what_the_times_cover_is_told() -> None:
    """A whole network that was measured goes before the sum of its kernels; what is left out counts for none."""
    run = Run(None)
    now = run.snapshot()
    rows = tuple(replace(now.rows[0], weight=w, state=s) for w, s in ((3, "measured"), (2, "waiting"), (9, "skipped")))
    summed = session_file._times(replace(now, rows=rows))
    assert (summed["ms"], summed["kernels"], summed["spread"]) == (0.5, 5, None)
    line = NetworkTime(measured_ms=1.0, untuned_ms=1.01, spread=0.04, untuned_spread=0.04)
    measured = session_file._times(replace(now, rows=rows, network=line))
    assert (measured["ms"], measured["kernels"], measured["spread"]) == (1.0, 0, 0.04)
    assert measured["change"] == "no difference shows"
    assert "sum of 5 kernels" in session_html(replace(now, rows=rows), None, None, ())
    assert "end to end, measured" in session_html(replace(now, rows=rows, network=line), None, None, ())


def wait_for(wanted: str, trials: int) -> dict[str, object]:
    for _ in range(2000):
        for told in session_file.sessions().values():
            if (told["state"], told["trials"]) == (wanted, trials):
                return told
        time.sleep(0.01)
    raise AssertionError(session_file.sessions())


def test_a_session_is_told_while_it_runs_and_when_it_has_ended(tmp_path: Path, own_folder: Path) -> None:
    run, ended = Run(tmp_path / "a.tunelog.jsonl"), threading.Event()
    thread = threading.Thread(target=session_file._tell, args=(run, os.path.realpath(run.log), ended))
    thread.start()
    told = wait_for("running", 0)
    assert (told["ms"], told["untuned_ms"], told["eta_s"], told["log"]) == (0.5, 2.0, 7.0, os.path.realpath(run.log))
    assert told["rows"] == [{"name": "matmul", "ms": 0.5, "trials": 0, "state": "tuning"}]
    assert (told["kernels"], told["change"]) == (1, "4.00× as fast")
    run.trials = 4
    wait_for("running", 4)
    run.state, run.trials = "done", 10
    ended.set()
    thread.join(20)
    wait_for("done", 10)
    [id] = session_file.sessions()
    if os.name == "posix":
        assert own_folder.stat().st_mode & 0o77 == 0
    session_file.forget(id)
    assert session_file.sessions() == {}


def test_a_process_that_has_gone_leaves_a_lost_session(own_folder: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    told = {**session_file.described(Run(None)), "updated": time.time()}
    session_file._write("gone", {**told, "pid": gone.pid})
    session_file._write("silent", {**told, "updated": time.time() - 2 * session_file.SILENT_S})
    session_file._write("other", {**told, "born": "1"})  # its number is another process's now
    session_file._write("forgotten", {**told, "updated": time.time() - 2 * session_file.KEPT_S})
    session_file._write("old", {**told, "state": "done", "updated": time.time() - 2 * session_file.KEPT_S})
    session_file._write("runs", told)
    found = session_file.sessions()
    states = {id: one["state"] for id, one in found.items()}
    if os.name == "posix":
        silent = found["silent"]
        assert silent["silent_s"] >= 2 * session_file.SILENT_S - 1
        assert silent["eta_s"] is None
    expected = {"gone": "lost", "silent": "running", "runs": "running"}
    expected |= {"other": "lost"} if told["born"] else {"other": "running"}
    assert states == (expected if os.name == "posix" else {**expected, "silent": "lost"})
    assert "silent_s" not in found["runs"]
    assert not (own_folder / "old.json").exists()
    assert not (own_folder / "forgotten.json").exists()


def test_what_is_no_such_file_is_passed_over(own_folder: Path) -> None:
    session_file._write("good", {**session_file.described(Run(None)), "updated": time.time()})
    for name, text in (("a", "{"), ("b", "[]"), ("c", '{"updated": "x"}'), ("d", "[" * 100_000)):
        (own_folder / f"{name}.json").write_text(text)
    if os.name == "posix":
        (own_folder / "link.json").symlink_to(own_folder / "good.json")
        others = own_folder / "others.json"
        others.write_text((own_folder / "good.json").read_text())
        others.chmod(0o666)
    assert list(session_file.sessions()) == ["good"]
    session_file.forget("../good")
    assert list(session_file.sessions()) == ["good"]


def test_commands_go_to_the_control_file_of_the_log(tmp_path: Path, own_folder: Path) -> None:
    log = tmp_path / "a.tunelog.jsonl"
    for id, one in (("logged", log), ("bare", None)):
        session_file._write(id, {**session_file.described(Run(one)), "updated": time.time()})
    _steer("logged", "pause")
    [line] = (tmp_path / "a.tunelog.jsonl.control").read_text().splitlines()
    assert (json.loads(line)["name"], json.loads(line)["args"]) == ("pause", {})
    assert read_message(line.encode()).source == "sidebar"
    for id, command, code in (
        ("bare", "pause", "steer.no_log"),
        ("logged", "budget", "steer.command"),
        ("nobody", "stop", "steer.unknown_session"),
    ):
        with pytest.raises(WorkbenchError) as info:
            _steer(id, command)
        assert info.value.code == code
    _steer("bare", "forget")
    assert list(session_file.sessions()) == ["logged"]

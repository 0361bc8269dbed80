"""Ctrl-C in every phase: exit code 130, one sentence, the log readable, no worker left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
from errors import models

from workbench.tune.log import load_log

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")


class Command:
    """A command in a process of its own, in the terminal's way: a process group that gets the signal together."""

    def __init__(self, *arguments):
        self.mark = uuid.uuid4().hex
        path = os.pathsep.join(filter(None, sys.path))
        environment = {**os.environ, "PYTHONPATH": path, "WORKBENCH_TEST_MARK": self.mark}
        command = [sys.executable, "-m", "workbench", *map(str, arguments)]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            command, stdout=pipe, stderr=pipe, text=True, env=environment, start_new_session=True
        )

    def interrupt(self):
        os.killpg(self.process.pid, signal.SIGINT)

    def finish(self):
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err

    def left_over(self):
        """Processes of this command that still live."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit() and int(entry.name) != os.getpid():
                try:
                    if self.mark.encode() in (entry / "environ").read_bytes():
                        found.append(int(entry.name))
                except OSError:
                    continue
        return found

    def all_gone(self):
        deadline = time.monotonic() + 60
        while self.left_over() and time.monotonic() < deadline:
            time.sleep(0.05)
        return self.left_over() == []


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return models.dense(tmp_path_factory.mktemp("m") / "m.onnx")


@pytest.mark.parametrize("delay", [0.25, 0.5, 1.0])
def test_tune_at_any_moment(model, tmp_path, delay):
    log = tmp_path / "a.jsonl"
    command = Command("tune", model, "--trials", "100000", "--log", log, "--threads", "1", "--json")
    time.sleep(delay)
    command.interrupt()
    code, out, err = command.finish()
    assert code == 130, err
    assert json.loads(out)["error"]["code"] == "interrupted"
    assert "Traceback" not in err
    assert command.all_gone()
    if log.exists():
        assert load_log(log).torn is None


def test_tune_while_it_measures(model, tmp_path):
    log = tmp_path / "a.jsonl"
    command = Command("tune", model, "--trials", "100000", "--log", log, "--threads", "1")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not log.exists() or log.read_bytes().count(b'"kind":"trial"') < 9):
        time.sleep(0.02)
    command.interrupt()
    time.sleep(0.01)
    command.interrupt()  # people press it twice
    code, out, err = command.finish()
    assert (code, out) == (130, ""), err
    assert "Traceback" not in err
    count = len(load_log(log).records)
    assert count >= 9
    assert f"Interrupted; {count} trials are safe" in err
    assert "--resume" in err
    assert command.all_gone()


def test_run_and_benchmark(model):
    command = Command("run", model, "--benchmark", "--repeat", "100000000", "--json")
    time.sleep(2.0)
    command.interrupt()
    code, out, err = command.finish()
    assert code == 130, err
    assert json.loads(out)["error"]["code"] == "interrupted"
    assert command.all_gone()


def test_kill_9_leaves_no_worker(model, tmp_path):
    log = tmp_path / "a.jsonl"
    command = Command("tune", model, "--trials", "100000", "--log", log, "--threads", "1")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not log.exists() or log.read_bytes().count(b"\n") < 5):
        time.sleep(0.02)
    command.process.kill()
    command.finish()
    assert command.all_gone()
    before = load_log(log)
    again = Command("tune", model, "--trials", str(len(before.records) + 6), "--log", log, "--threads", "1", "--resume")
    code, _, err = again.finish()
    assert code == 0, err
    after = load_log(log).records
    assert after[: len(before.records)] == before.records
    assert [r.trial for r in after] == list(range(len(before.records) + 6))
    assert len({(r.task_key, r.key) for r in after}) == len(after)

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

import leftovers
import pytest
from errors import models
from waiting import until

from workbench.log import load_log

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks for processes in /proc")


class Command:
    """A command in a process of its own, in the terminal's way: a process group that gets the signal together."""

    def __init__(self, *arguments, ignoring=False):
        self.mark = uuid.uuid4().hex
        path = os.pathsep.join(filter(None, sys.path))
        environment = {**os.environ, "PYTHONPATH": path, "WORKBENCH_TEST_MARK": self.mark}
        command = [sys.executable, "-m", "workbench", *map(str, arguments)]
        pipe = subprocess.PIPE
        # Tests that run in the background of a script would hand on that SIGINT is ignored.
        meaning = signal.SIG_IGN if ignoring else signal.SIG_DFL
        self.process = subprocess.Popen(
            command, stdout=pipe, stderr=pipe, text=True, env=environment, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, meaning),
        )  # fmt: skip

    def interrupt(self):
        os.killpg(self.process.pid, signal.SIGINT)

    def finish(self):
        out, err = self.process.communicate(timeout=100)
        return self.process.returncode, out, err

    def left(self):
        """Processes of this command that still live."""
        return leftovers.marked(self.mark)

    def all_gone(self):
        return not leftovers.gone(self.left, 60)

    def end(self):
        """End it and whatever it has started, and close its streams."""
        leftovers.kill(self.left())
        self.process.communicate(timeout=60)


@pytest.fixture
def start():
    """Start commands, which are ended with the test, whatever comes of it."""
    started = []

    def begin(*arguments, **options):
        started.append(Command(*arguments, **options))
        return started[-1]

    yield begin
    for command in started:
        command.end()


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return models.dense(tmp_path_factory.mktemp("m") / "m.onnx")


IMPORTING = """
import signal, time
from workbench.cli.interrupt import heard_interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)
callback = compile("signal.raise_signal(signal.SIGINT); print('ended')", "<frozen importlib._bootstrap>", "exec")
try:
    with heard_interrupts():
        exec(callback)
        time.sleep(30)
except KeyboardInterrupt:
    print("heard")
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_an_interrupt_in_a_callback_of_the_import_system_is_not_lost():
    done = subprocess.run([sys.executable, "-c", IMPORTING], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["ended", "heard", "True"]


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0])
def test_tune_at_any_moment(start, model, tmp_path, delay):
    log = tmp_path / "a.jsonl"
    command = start("tune", model, "--trials", "100000", "--log", log, "--threads", "1", "--json")
    time.sleep(delay)
    check_interrupted(command, log)


def test_tune_while_it_begins(start, model, tmp_path):
    """When it has opened its log: workers and the cost model are about to start."""
    log = tmp_path / "a.jsonl"
    command = start("tune", model, "--trials", "100000", "--log", log, "--threads", "1", "--json")
    until(lambda: log.exists() or command.process.poll() is not None)
    check_interrupted(command, log)


def check_interrupted(command, log):
    command.interrupt()
    code, out, err = command.finish()
    assert code == 130, err
    assert json.loads(out)["error"]["code"] == "interrupted"
    assert "Traceback" not in err
    assert command.all_gone()
    if log.exists():
        assert load_log(log).torn is None


def test_tune_while_it_measures(start, model, tmp_path):
    log = tmp_path / "a.jsonl"
    command = start("tune", model, "--trials", "100000", "--log", log, "--threads", "1")
    until(lambda: log.exists() and log.read_bytes().count(b'"n":') >= 9)
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


def test_run_and_benchmark(start, model, tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path))
    command = start("run", model, "--benchmark", "--repeat", "100000000", "--json")
    until(lambda: [*tmp_path.glob("kernels/*")] or command.process.poll() is not None)  # it is compiled
    time.sleep(0.3)
    command.interrupt()
    code, out, err = command.finish()
    assert code == 130, err
    assert json.loads(out)["error"]["code"] == "interrupted"
    assert command.all_gone()


@pytest.mark.checks
def test_kill_9_leaves_no_worker(start, model, tmp_path):
    log = tmp_path / "a.jsonl"
    command = start("tune", model, "--trials", "100000", "--log", log, "--threads", "1")
    until(lambda: log.exists() and log.read_bytes().count(b"\n") >= 5)
    command.process.kill()
    command.finish()
    assert command.all_gone()
    before = load_log(log)
    again = start("tune", model, "--trials", str(len(before.records) + 6), "--log", log, "--threads", "1", "--resume")
    code, _, err = again.finish()
    assert code == 0, err
    after = load_log(log).records
    assert after[: len(before.records)] == before.records
    assert [r.trial for r in after] == list(range(len(before.records) + 6))
    assert len({(r.task_key, r.key) for r in after}) == len(after)


@pytest.mark.checks
def test_what_runs_in_the_background_of_a_script_is_not_interrupted(start, model, tmp_path):
    """There SIGINT is ignored from the start, and Ctrl-C is for what runs in front."""
    log = tmp_path / "a.jsonl"
    command = start("tune", model, "--trials", "6", "--log", log, "--threads", "1", "--json", ignoring=True)
    until(lambda: log.exists() or command.process.poll() is not None)
    command.interrupt()
    code, out, err = command.finish()
    assert code == 0, err
    assert json.loads(out)["trials"] == len(load_log(log).records) == 6
    assert command.all_gone()

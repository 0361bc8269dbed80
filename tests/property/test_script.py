"""An exported script rebuilds the variant: the same function and the same code, whatever steps led there."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from property.randoms import random_schedule
from workbench import Schedule, Session, Target, workloads
from workbench.codegen.c.module import Module
from workbench.errors import BuildError
from workbench.graph.structural_key import structural_key
from workbench.widgets.export import made

TARGET = Target("llvm", cpu="x86-64-v3", triple="x86_64-unknown-linux-gnu", threads=2)


def exported(schedule, **args):
    session = Session(schedule, target=TARGET, auto_measure=False)
    try:
        return made(session, {"what": "script", **args}).text
    finally:
        session.close()


def rebuilt(text):
    """Run a script as a module would be imported: up to where it measures."""
    space = {"__name__": "script", "print": lambda *_: None}
    exec(compile(text, "script.py", "exec"), space)
    return space["s"]


def c_text(func):
    try:
        return Module(func, TARGET, "kernel").text()[0]
    except BuildError as error:  # what is not compiled is refused in the same words
        return str(error)


def check(schedule):
    again = rebuilt(exported(schedule))
    assert again.func == schedule.func
    assert structural_key(again.func) == structural_key(schedule.func)
    assert again.trace == schedule.trace
    assert str(again.target) == str(TARGET)
    if schedule.is_concrete:
        assert c_text(again.func) == c_text(schedule.func)


@pytest.mark.parametrize("seed", range(25))
def test_random_steps(seed):
    rng = random.Random(seed)
    check(random_schedule(rng, holes=seed % 5 == 4, programs=0.5).schedule)


def test_every_variant_has_its_own_script():
    s = Schedule(workloads.matmul(64, 64, 64))
    s.split("j", [None, 16])
    s.unroll("j.1")
    text = exported(s, node=1)
    assert rebuilt(text).trace == s.trace[:1]
    assert "v1" in text.splitlines()[0]


@pytest.mark.slow
def test_a_fresh_process_measures_the_number_again(tmp_path):
    s = Schedule(workloads.matmul(128, 128, 128), Target.host(threads=1))
    s.split("j", [None, 16])
    s.reorder("i", "j.0", "k", "j.1")
    s.vectorize("j.1")
    session = Session(s, auto_measure=False)
    try:
        session.run("measure")
        while session.state.doing:
            session.flush(1)
        row = session.snapshot().slices["history"]["rows"][-1]
        assert row["status"] == "ok", row["error"]
        path = tmp_path / "script.py"
        path.write_text(made(session, {"what": "script"}).text)
    finally:
        session.close()
    limit = 1 + 3 * max(0.05, row["spread"])
    for _ in range(3):  # what else the machine does only ever adds time
        done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        last = done.stdout.splitlines()[-1]
        assert last.startswith("measured ")
        assert f"expected {row['ms']:.5g} ms" in last
        if 1 / limit < float(last.split()[1]) / row["ms"] < limit:
            return
    raise AssertionError(f"three times another number: {last}")

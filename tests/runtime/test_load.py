"""How busy the machine is and with what, from /proc as it is and as it might be."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from waiting import until

from workbench.runtime.machine import system_load
from workbench.runtime.machine.system_load import Load, LoadWatch

linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell whose the load is")


def pretend(monkeypatch, *looks):
    """Let the system tell (ticks passed, busy, stolen) and {number: (name, parent, ticks)}, look by look."""
    totals, processes = iter([one[0] for one in looks]), iter([one[1] for one in looks])
    made = [{n: system_load._Process(*p) for n, p in one.items()} for one in processes]
    seconds, listed = iter(range(len(looks))), iter(made)
    monkeypatch.setattr(system_load, "totals", lambda: next(totals))
    monkeypatch.setattr(system_load, "_processes", lambda: next(listed))
    monkeypatch.setattr(system_load.sys, "platform", "linux")
    watch = LoadWatch(lambda: float(next(seconds)))
    assert watch.look() is None
    return watch


ME = os.getpid()
START = {
    1: ("init", 0, 5),
    ME: ("python", 1, 100),
    9: ("python", ME, 10),
    20: ("chrome", 1, 70),
    21: ("cat", 20, 0),
    30: ("cc1", 1, 8),
}


def after(**ticks):
    numbers = {"own": ME, "worker": 9, "chrome": 20, "tab": 21, "cc": 30}
    spent = {numbers[name]: n for name, n in ticks.items()}
    return {n: (name, parent, old + spent.get(n, 0)) for n, (name, parent, old) in START.items()}


@pytest.mark.parametrize(
    ("busy", "stolen", "spent", "kind"),
    [
        (4, 0, {"own": 2}, ""),
        (110, 0, {"own": 40, "worker": 60, "cc": 5}, "kernel"),
        (110, 0, {"own": 5, "chrome": 20, "tab": 80}, "browser"),
        (90, 0, {"own": 5, "cc": 80}, "other"),
        (90, 0, {}, "other"),  # of another container: it cannot be seen
        (10, 60, {"own": 10}, "stolen"),
    ],
)
def test_it_is_told_whose_the_load_is(monkeypatch, busy, stolen, spent, kind):
    found = pretend(monkeypatch, ((0, 0, 0), START), ((200, busy, stolen), after(**spent))).look()
    assert found.kind == kind
    assert found.busy == pytest.approx((busy + stolen) / 200)
    assert found.kernel + found.browser + found.other + found.stolen == pytest.approx(found.busy, abs=0.03)


def test_the_largest_of_the_others_is_named(monkeypatch):
    found = pretend(monkeypatch, ((0, 0, 0), START), ((200, 90, 0), after(cc=80))).look()
    assert (found.words()["text"], found.words()["whose"]) == ("45 % busy", ": cc1")
    assert "lately: other programs 45 %, most of the others is cc1." in found.words()["about"]


def test_a_process_that_came_meanwhile_counts_and_a_number_that_was_used_again_does_not_go_back(monkeypatch):
    then = {**START, 40: ("make", 1, 500)}
    now = {**after(), 40: ("ld", 1, 60), 41: ("cc1plus", 1, 30)}
    found = pretend(monkeypatch, ((0, 0, 0), then), ((200, 90, 0), now)).look()
    assert found.largest == "ld"
    assert found.other == pytest.approx(0.45)


def test_looks_too_far_apart_say_nothing(monkeypatch):
    watch = pretend(monkeypatch, *[((100.0 * k, 50.0 * k, 0), START) for k in range(4)])
    assert watch.look().busy == 0.5
    watch.forget()
    assert watch.look() is None
    watch._before = (watch._before[0] - 60, *watch._before[1:])
    assert watch.look() is None


def test_a_kernel_finds_its_cores_or_does_not(monkeypatch):
    monkeypatch.setattr(system_load.os, "cpu_count", lambda: 2)
    assert Load(0.05, 0, 0, 0.05).leaves(2)
    assert not Load(0.4, 0, 0, 0.4).leaves(2)
    assert Load(0.5, 0, 0, 0.5).leaves(1)
    assert not Load(0.8, 0, 0, 0.8).leaves(1)


def test_small_changes_are_not_worth_telling():
    busy = Load(0.5, 0.0, 0.4, 0.1)
    assert busy.like(Load(0.55, 0.0, 0.4, 0.15))
    assert not busy.like(Load(0.7, 0.0, 0.6, 0.1))
    assert not busy.like(Load(0.5, 0.4, 0.0, 0.1))
    assert Load(0.01, 0, 0, 0.01).like(Load(0.1, 0, 0, 0.1)), "quiet is quiet"
    assert not busy.like(None)


@linux
def test_a_busy_child_is_this_kernels_load():
    """Two real looks, and a program that we have started ourselves."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as child:
        try:
            watch = LoadWatch()
            assert watch.look() is None
            looks = []

            def noticed() -> bool:
                looks.append(watch.look())
                return looks[-1] is not None and looks[-1].kernel > 0.1 / (os.cpu_count() or 1)

            until(noticed, every_s=0.5)  # it has a core, or a small part of one
        finally:
            child.kill()
    found = looks[-1]
    assert 0 < found.busy <= 1


@linux
def test_a_look_is_cheap():
    watch = LoadWatch()
    watch.look()
    least = float("inf")
    for _ in range(5):
        began = time.thread_time()
        watch.look()
        least = min(least, time.thread_time() - began)
    assert least < 0.005 * max(1.0, len(system_load._processes()) / 300)


def test_elsewhere_there_is_one_number_or_none(monkeypatch):
    monkeypatch.setattr(system_load.sys, "platform", "darwin")
    monkeypatch.setattr(system_load.os, "getloadavg", lambda: (1.0, 0, 0), raising=False)
    monkeypatch.setattr(system_load.os, "cpu_count", lambda: 4)
    assert LoadWatch().look() == Load(0.25)
    assert LoadWatch().look().words()["text"] == "25 % busy"
    monkeypatch.delattr(system_load.os, "getloadavg")
    assert LoadWatch().look() is None


@linux
def test_threads_of_the_system_have_one_name():
    named = {number: process.name for number, process in system_load._processes().items()}
    assert named[ME] != system_load.SYSTEM
    processes = system_load._processes().items() if named.get(2) == system_load.SYSTEM else ()
    system = [n for n, process in processes if process.parent == 2]
    if not system:
        pytest.skip("a container shows no threads of the system")
    assert {named[n] for n in system if n in named} == {system_load.SYSTEM}

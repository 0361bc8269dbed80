"""Events around calls: those that this system counts, what is said where it counts none, and the models beside them."""

import errno
import json
import mmap
import sys
from dataclasses import replace

import pytest

import workbench as wb
from workbench.advice import counters
from workbench.analysis.throughput import report
from workbench.analysis.throughput.findings import Finding, Found
from workbench.runtime.machine import hardware_counters
from workbench.runtime.machine.hardware_counters import Event, count
from workbench.runtime.results.counted import Counted

linux = pytest.mark.skipif(sys.platform != "linux", reason="Linux counts")
PAGES = 512
NANOSECONDS = Event("task clock", 1, 1, "nanoseconds of the thread")


def touch():
    """Write to pages that nobody has touched."""
    with mmap.mmap(-1, PAGES * mmap.PAGESIZE) as pages:
        for k in range(PAGES):
            pages[k * mmap.PAGESIZE] = 1


def counted(run, calls, threads, name):
    """What is counted of an event; a container may allow none."""
    found = count(run, calls, threads)
    if name not in dict(found.values):
        pytest.skip(dict(found.why_not)[name])
    return dict(found.values)[name]


@linux
@pytest.mark.parametrize("threads", [1, 2])
def test_pages_that_are_touched_are_counted_for_each_call(threads):
    # A system with large pages brings many at once.
    assert 1 <= 4 * counted(touch, 4, threads, "page faults") <= PAGES + 64
    assert counted(lambda: None, 1, threads, "page faults") < 8


@linux
def test_nothing_before_or_after_is_counted(monkeypatch):
    monkeypatch.setattr(hardware_counters, "EVENTS", (NANOSECONDS,))
    touch()
    brief, long = (counted(lambda n=n: sum(range(n)), 1, 1, "task clock") for n in (10, 1_000_000))
    assert brief < long / 20


@pytest.mark.parametrize(
    ("number", "level", "said"),
    [
        (errno.EACCES, 3, "perf_event_paranoid is 3"),
        (errno.EPERM, 1, "CAP_PERFMON"),
        (errno.ENOENT, 1, "as most virtual machines do"),
        (errno.ENOSYS, 0, "only Linux"),
        (errno.EMFILE, 0, "files"),
    ],
)
def test_why_an_event_is_not_counted(monkeypatch, number, level, said):
    def refuse(event, thread):
        raise OSError(number, "")

    monkeypatch.setattr(hardware_counters, "_opened", refuse)
    monkeypatch.setattr(hardware_counters, "_paranoid", lambda: level)
    found = count(lambda: None, 1, 1)
    assert found.values == ()
    assert {name for name, _ in found.why_not} == {one.name for one in hardware_counters.EVENTS}
    assert all(said in why for _, why in found.why_not)


def tile():
    s = wb.Schedule(wb.workloads.matmul(96, 64, 80), wb.Target.host(threads=1))
    s.reorder("i", "k", "j").vectorize("j")
    return s


def test_a_measurement_counts_only_when_asked():
    s = tile()
    assert s.measure().counters is None
    found = s.measure(counters=True).counters
    assert {name for name, _ in (*found.values, *found.why_not)} == {one.name for one in hardware_counters.EVENTS}


def test_each_counter_stands_beside_its_model():
    s = tile()
    found = counters(s)
    rows = {row.name: row for row in found.rows}
    view = wb.analysis.cache_view(s)
    reads = sum(a.levels[0].misses for a in view.accesses if a.kind == "read")
    assert rows["L1 load misses"].simulated == reads
    assert "Caches" in rows["L1 load misses"].source
    assert rows["branch misses"].simulated is None
    assert all((row.counted is None) == bool(row.why_not) for row in found.rows)
    assert "page faults" in repr(found)
    assert "Counters" in found._repr_html_()
    assert json.loads(json.dumps(found.to_json()))["rows"][2]["simulated"] == reads


def test_a_counted_event_is_told_with_its_number(monkeypatch):
    told = Counted((("L1 load misses", 1234.0),), (("cycles", "the virtual machine hides it"),))
    measured = tile().measure()
    monkeypatch.setattr(wb.Schedule, "measure", lambda self, *_, **__: replace(measured, counters=told))
    found = counters(tile())
    assert found.why_not == "", "one of the processor's events was counted"
    assert "1\u202f234 counted" in repr(found)


def test_the_innermost_loop_says_how_many_instructions_there_are(monkeypatch):
    def analyse(instructions, target):
        each = tuple(Finding({"p0": 1.0}, 1.0, False) for _ in instructions)
        return Found("by hand", "none", each, {"p0": float(len(instructions))}, 0.0, None)

    monkeypatch.setattr(report, "ANALYSERS", {"hand": (lambda target: "", analyse)})
    s = wb.Schedule(wb.workloads.matmul(96, 64, 80), wb.Target.host(threads=1))
    s.reorder("i", "j", "k")
    rows = {row.name: row for row in counters(s).rows}
    adds = sum("vfmadd" in one.text or "mulss" in one.text for one in wb.analysis.throughput(s).instructions)
    loop = wb.analysis.throughput(s)
    assert loop.iterations * adds == 96 * 64 * 80
    assert rows["instructions"].simulated == loop.iterations * len(loop.instructions)
    assert rows["cycles"].simulated == loop.iterations * loop.cycles

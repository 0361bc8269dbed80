"""A benchmark over seconds: groups, the speed of the machine between them, and two networks in turns."""

import json
import os
import sys
from types import SimpleNamespace

import pytest

from workbench.network import benchmark_groups as groups
from workbench.network.benchmark_groups import Turns, combined, in_groups, in_turns
from workbench.runtime.machine import reference_speed
from workbench.runtime.machine.reference_speed import Reference, Speed, usual
from workbench.runtime.networks.benchmark import BenchmarkResult

FAST, SLOW = Speed(100.0, 10.0), Speed(98.0, 5.0)


class Machine:
    """Two seconds at the usual speed, two at half of it, and so on; the clock goes on with what is timed."""

    def __init__(self, monkeypatch, period_s=2.0):
        self.now, self.period_s = 0.0, period_s
        clock = SimpleNamespace(perf_counter=lambda: self.now)
        monkeypatch.setattr(groups, "time", clock)
        monkeypatch.setattr(groups, "Reference", lambda cores: SimpleNamespace(look=self.look))
        monkeypatch.setattr(groups, "usual", lambda looks: FAST)

    @property
    def slow(self):
        return self.now % (2 * self.period_s) >= self.period_s

    def look(self):
        return SLOW if self.slow else FAST

    def network(self, ms):
        return SimpleNamespace(benchmark=lambda inputs, repeat=None: self.benchmark(ms, repeat))

    def benchmark(self, ms, repeat):
        costs = tuple(ms * (2.0 if self.slow else 1.0) * (1 + k % 3 / 1000) for k in range(repeat or 10))
        self.now += 0.4 if repeat is None else 0.05
        return BenchmarkResult(costs, 2, 9.0, watched=2)


def test_groups_during_which_the_machine_was_slow_do_not_count(monkeypatch):
    found = in_groups(Machine(monkeypatch).network(4.0), {}, None, 2)
    assert found.result.clean
    assert found.result.median_ms == pytest.approx(4.0, rel=0.01)
    assert max(found.groups_ms) < 4.1
    assert len(found.slow) >= 2
    assert {share for share, _ in found.slow} == {0.5}
    assert f"{len(found.slow)} more groups do not count: the machine was at 0.50 of its usual speed (memory)" in str(
        found
    )
    assert f"between {len(found.groups_ms)} groups of runs within" in str(found)
    assert found.to_json()["slow"] == [0.5] * len(found.slow)


def test_where_the_machine_was_slow_all_the_time_no_time_is_certified(monkeypatch):
    machine = Machine(monkeypatch, period_s=1e9)
    machine.now = 1e9
    found = in_groups(machine.network(4.0), {}, None, 2)
    assert (found.result.clean, found.result.median_ms) == (False, pytest.approx(8.0, rel=0.01))
    assert "disturbed: the machine was at 0.50 of its usual speed (memory); undisturbed a run takes 8 ms" in str(found)
    assert "core of its own" not in str(found)
    assert found.to_json()["why_not"] == "the machine was at 0.50 of its usual speed (memory)"


def test_groups_that_differ_are_told_though_nothing_else_shows_it():
    of = lambda ms: BenchmarkResult((ms, ms), 2, watched=2)  # noqa: E731
    apart = combined([of(3.5), of(5.7)], [(1.0, "clock")] * 2, 1.0)
    assert apart.result.why_not == "groups of runs took from 3.5 to 5.7 ms"
    assert "4.6 ± 1.1 ms between 2 groups" in str(apart)
    near = combined([of(3.5), of(3.7)], [(1.0, "clock")] * 2, 1.0)
    assert near.result.clean
    assert near.result.costs_ms == (3.5, 3.5, 3.7, 3.7)


def test_a_group_in_which_a_thread_had_no_core_gives_way_to_the_others():
    calm, busy = BenchmarkResult((3.0,), 2, watched=2), BenchmarkResult((6.0,), 2, why_not="somebody", watched=2)
    assert combined([busy, calm], [(1.0, "clock")] * 2, 1.0).result.costs_ms == (3.0,)
    assert combined([busy, busy], [(1.0, "clock")] * 2, 1.0).result.why_not == "somebody"


@pytest.mark.parametrize("repeat", [1, 3, 6, 11])
def test_the_repetitions_that_are_asked_for_are_shared_by_the_groups(monkeypatch, repeat):
    found = in_groups(Machine(monkeypatch, period_s=1e9).network(4.0), {}, repeat, 2)
    assert len(found.result.costs_ms) == found.to_json()["repeats"] == repeat
    assert len(found.groups_ms) == min(repeat, groups.LEAST)


def test_a_ratio_of_turns_holds_on_a_machine_that_changes_its_speed(monkeypatch):
    machine = Machine(monkeypatch, period_s=0.5)
    found = in_turns(machine.network(4.0), machine.network(3.5), {})
    assert max(found.before_ms) > 1.9 * min(found.before_ms), "the times themselves say little"
    assert found.told
    assert 1 / found.ratio == pytest.approx(4.0 / 3.5, rel=0.01)
    assert "1.14× as fast" in str(found)
    same = in_turns(machine.network(4.0), machine.network(4.0), {})
    assert 1 / same.ratio == pytest.approx(1.0, rel=0.01)


def test_groups_that_take_long_are_waited_for_so_long(monkeypatch):
    machine = Machine(monkeypatch, period_s=1e9)
    slow = SimpleNamespace(
        benchmark=lambda inputs, repeat=None: (setattr(machine, "now", machine.now + 2.5), result)[1]
    )
    result = BenchmarkResult((4.0,), 2, watched=2)
    assert len(in_groups(slow, {}, None, 2).groups_ms) == groups.LEAST
    assert len(in_turns(slow, slow, {}).after_ms) == groups.LEAST
    machine.now, result = 0.0, BenchmarkResult((4000.0,), 2, watched=2)
    slow.benchmark = lambda inputs, repeat=None: (setattr(machine, "now", machine.now + 40.0), result)[1]
    assert len(in_groups(slow, {}, None, 2).groups_ms) == 1


def test_turns_that_tell_nothing_say_within_what():
    found = Turns((4.0, 4.1, 4.0, 4.2), (4.1, 4.0, 4.2, 4.0))
    assert not found.told
    assert "no difference shows (between 0." in str(found)
    least, most = found.to_json()["speedup_between"]
    assert least < 1.0 < most


def test_what_is_usual_is_kept_and_is_not_what_slow_phases_say(monkeypatch, tmp_path):
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path))
    assert usual([SLOW]) == SLOW, "nothing better is known"
    assert usual([FAST] * 3).memory == pytest.approx(10.0)
    now = usual([SLOW] * 10)
    assert now.memory == pytest.approx(10.0)
    assert SLOW.beside(now) == (0.5, "memory")
    assert Speed(60.0, 10.0).beside(now)[1] == "clock"
    path = tmp_path / "reference-speed.json"
    assert len(next(iter(json.loads(path.read_text()).values()))) == 14
    usual([FAST] * 500)
    assert len(next(iter(json.loads(path.read_text()).values()))) == reference_speed.KEPT
    for damaged in ("", "[]", '{"a": 3}', '{"a": [[1]]}', "{"):
        path.write_text(damaged)
        assert usual([FAST]) == FAST


def test_the_reference_loop_leaves_the_thread_where_it_was():
    before = os.sched_getaffinity(0) if sys.platform == "linux" else None
    found = Reference(2).look()
    assert min(found.clock, found.memory) > 0.0
    assert before is None or os.sched_getaffinity(0) == before

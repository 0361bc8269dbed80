"""Going to a state of another schedule, and branching from an earlier one."""

from __future__ import annotations

import threading

import pytest
from schedule import nests

from workbench import workloads
from workbench.errors import ScheduleError, UsageError
from workbench.schedule import Hole, Schedule


def fresh() -> Schedule:
    return Schedule(nests.epilogue())


def test_the_cursor_moves_and_everything_else_stays():
    s, t = fresh(), fresh()
    s.split("i", [None, 4])
    t.split("j", [None, 8])
    t.unroll("j.1")
    before, seen = t.func, []
    s.watch(lambda: seen.append(len(s.trace)))
    assert s.go_to(t) is s
    assert seen == [2], "one move, whatever lies between"
    assert (s.func, s.trace) == (t.func, t.trace)
    s.undo().split("k", [None, 2])
    assert (t.func, len(t.trace)) == (before, 2)


def test_what_was_undone_is_forgotten_as_after_a_step():
    s, t = fresh(), fresh()
    s.split("i", [None, 4])
    s.undo()
    s.go_to(t)
    assert not s.undone
    assert not s.redo().trace
    t.split("i", [None, 4])
    t.undo()
    assert not s.go_to(t).undone, "what another one would take again is not ours"


def test_a_schedule_of_another_function_is_refused():
    s = fresh()
    s.split("i", [None, 4])
    func = s.func
    with pytest.raises(ScheduleError) as caught:
        s.go_to(Schedule(workloads.matmul(64, 64, 64)))
    assert caught.value.code == "schedule.other"
    assert caught.value.hint
    assert s.func is func
    with pytest.raises(UsageError):
        s.go_to(nests.epilogue())  # type: ignore[arg-type]


def test_an_equal_function_will_do():
    s = fresh()
    s.go_to(Schedule.from_json(nests.epilogue(), [{"primitive": "unroll", "args": {"loop": "k"}}]))
    assert s.trace[0].name == "unroll"


def test_a_filled_schedule_is_gone_to_with_its_numbers():
    s = fresh()
    s.split("i", [None, Hole("tile")])
    filled = s.fill({"tile": 4})
    s.go_to(filled)
    assert s.is_concrete
    assert s.func is filled.func


def test_a_prefix_is_a_branch_from_an_earlier_state():
    s = fresh()
    s.split("i", [None, 4])
    middle = s.func
    s.split("j", [None, 4])
    branch = s.prefix(1)
    assert (branch.func, len(branch.trace), branch.undone) == (middle, 1, ())
    branch.unroll("k")
    assert [p.name for p in s.trace] == ["split", "split"]
    assert s.prefix(0).func is s.base
    assert s.prefix(9).func is s.func
    with pytest.raises(UsageError):
        s.prefix(-1)


def test_two_cursors_that_go_to_each_other_do_not_wait_for_each_other():
    s, t = fresh(), fresh()
    s.split("i", [None, 4])

    def work(a: Schedule, b: Schedule) -> None:
        for _ in range(500):
            a.go_to(b)

    threads = [threading.Thread(target=work, args=pair, daemon=True) for pair in ((s, t), (t, s))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
        assert not thread.is_alive()

"""The cursor: states, moves, traces, text."""

from __future__ import annotations

import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from schedule import nests

from workbench import workloads
from workbench.errors import ScheduleError, UsageError
from workbench.schedule import Hole, Schedule
from workbench.schedule.primitives.split import Split


def fresh() -> Schedule:
    return Schedule(nests.epilogue())


def test_methods_return_names_or_the_schedule():
    s = fresh()
    assert s.split("i", [None, 4]) == ("i.0", "i.1")
    assert s.fuse("i.0", "i.1") == "i.0.i.1"
    assert s.unroll("k") is s
    assert s.cache_write("relu") == "relu.copy"


def test_states_are_immutable_and_branches_independent():
    s = fresh()
    start = s.func
    s.split("i", [None, 4])
    branch = s.copy()
    branch.split("j", [None, 4])
    assert len(s.trace) == 1
    assert len(branch.trace) == 2
    assert branch.undo(2).func is start
    assert branch.redo().func is s.func
    assert branch.redo(5).trace[-1].loop == "j"
    branch.undo().unroll("k")
    assert branch.redo().trace[-1].name == "unroll", "a new step forgets what was undone"
    assert branch.undo(100).trace == ()


def test_a_refused_step_changes_nothing():
    s = fresh()
    s.split("i", [None, 4])
    func, trace = s.func, s.trace
    with pytest.raises(ScheduleError):
        s.split("i.0", [None, 7])
    assert (s.func, s.trace) == (func, trace)


def test_unknown_names_get_a_suggestion():
    with pytest.raises(ScheduleError) as caught:
        fresh().split("relu_k", [None, 4])
    assert "did you mean" in caught.value.hint
    assert "'relu_i'" in caught.value.hint


def test_a_task_brings_its_target():
    s = Schedule(SimpleNamespace(func=nests.epilogue(), target="cpu"))
    assert s.target == "cpu"
    assert Schedule(nests.epilogue(), "gpu").target == "gpu"
    with pytest.raises(UsageError) as caught:
        Schedule(3)
    assert caught.value.code == "schedule.func"


def test_moves_tell_legal_from_illegal():
    s = fresh()
    moves = s.moves()
    assert {m.primitive for m in moves} >= {"split", "fuse", "reorder", "parallel", "vectorize", "compute_inline"}
    flags = [m.legal for m in moves]
    assert flags == sorted(flags, reverse=True), "legal moves come first"
    for m in moves:
        t = s.copy()
        if m.legal:
            t.apply(m.step)
            assert not m.code
        else:
            assert m.code
            assert m.reason
            with pytest.raises(ScheduleError) as caught:
                t.apply(m.step)
            assert caught.value.code == m.code
        assert m.to_json()["legal"] is m.legal


def test_moves_at_a_place():
    s = fresh()
    assert all("k" in str(m.args) for m in s.moves("k"))
    assert {m.primitive for m in s.moves("C")} >= {"cache_write", "compute_at", "compute_inline"}
    assert {m.primitive for m in s.moves("B")} >= {"transform_layout", "cache_read"}
    with pytest.raises(ScheduleError) as caught:
        s.moves("nowhere")
    assert caught.value.code == "schedule.name"


def test_a_refused_move_shows_two_iterations():
    s = Schedule(workloads.matmul(4, 4, 4)).reorder("k", "i", "j")
    move = next(m for m in s.moves("k") if m.primitive == "parallel")
    assert not move.legal
    assert move.witness.to_json()["element"] == [0, 0]
    assert move.witness.first != move.witness.second


def symbolic() -> Schedule:
    s = fresh()
    s.compute_inline("bias_add")
    s.split("i", [None, Hole(), Hole("ti")])
    s.split("j", [None, Hole(), Hole("tj", choices=[4, 8])])
    s.reorder("i.0", "j.0", "k", "i.1", "j.1", "i.2", "j.2")
    s.reverse_compute_at("relu", "j.0")
    s.transform_layout("B", 1, ["j_1", "tj"])
    s.vectorize("j.2").parallel("i.0", "j.0")
    return s


def test_json_round_trip():
    s = symbolic()
    again = Schedule.from_json(s.base, s.to_json())
    assert again.func == s.func
    assert again.trace == s.trace


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "trace.json"),
        ("{}", "trace.json"),
        ('[{"primitive": "split"}]', "primitive.argument"),
        ("[3]", "trace.step"),
    ],
)
def test_broken_traces(text, code):
    with pytest.raises((ScheduleError, UsageError)) as caught:
        Schedule.from_json(nests.epilogue(), text)
    assert caught.value.code == code


def test_replay_says_which_step_failed():
    steps = [{"primitive": "unroll", "args": {"loop": "k"}}, {"primitive": "unroll", "args": {"loop": "kk"}}]
    with pytest.raises(ScheduleError) as caught:
        Schedule.from_json(nests.epilogue(), steps)
    assert caught.value.where[0] == "step 1"
    assert caught.value.code == "loop.unknown"


@pytest.mark.parametrize("source", [None, "wb.workloads.matmul(12, 16, 8, bias=True, relu=True, constant_b=True)"])
def test_python_text_rebuilds_the_schedule(source):
    s = symbolic()
    text = s.to_python(source)
    space: dict = {"print": lambda *_: None}
    exec(compile(text, "schedule.py", "exec"), space)
    assert space["s"].func == s.func


def test_the_script_runs_by_itself():
    done = subprocess.run([sys.executable, "-c", symbolic().to_python()], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "parallel i.0 in ?i_0" in done.stdout


def test_fill_puts_numbers_into_the_trace():
    s = symbolic()
    filled = s.fill({"i_1": 2, "ti": 3, "j_1": 1, "tj": 8})
    assert filled.is_concrete
    assert not s.is_concrete
    assert filled.trace[1].factors == (None, 2, 3)
    assert filled.trace[5].block == (1, 8)
    assert filled.undo().trace == filled.trace
    assert [lp.kind for lp in filled.undo().loops[:2]] == ["serial", "serial"]
    nests.check_rows(s)


def test_variants_close_structural_choices():
    s = Schedule(workloads.conv2d_nhwc(6, 6, 4, 4))
    s.compute_at("pad", Hole("where", choices=["h", "kw", "nonsense"]))
    s.split("o", [None, Hole("t")])
    assert not s.is_concrete
    assert s.trace[0].to_json()["args"]["loop"] == {"hole": "where", "choices": ["h", "kw", "nonsense"]}
    variants = list(s.variants())
    assert [v.trace[0].loop for v in variants] == ["h", "kw"]
    assert variants[0].func == s.func, "the schedule shows the first choice that is legal"
    for v in variants:
        nests.check_rows(v, rows=2)


def test_nothing_runs_while_numbers_are_open():
    for call in (symbolic().build, symbolic().measure):
        with pytest.raises(ScheduleError) as caught:
            call()
        assert caught.value.code == "schedule.open"


def test_repr_shows_steps_and_nest():
    s = fresh()
    s.split("i", [None, 4])
    text = repr(s)
    assert text.startswith("# 0: split('i', [None, 4])")
    assert "for i.0 in 3:" in text
    assert "i.0" in s._repr_html_()


def test_watchers_hear_every_change_and_copies_are_not_watched():
    s = Schedule(workloads.matmul(8, 8, 8))
    heard = []
    stop = s.watch(lambda: heard.append(len(s.trace)))
    s.split("i", [None, 2])
    s.split("j", [None, 2])
    s.undo(2)
    assert [p.name for p in s.undone] == ["split", "split"]
    s.redo()
    s.copy().undo()
    with pytest.raises(ScheduleError):
        s.split("i", [None, 2])  # i is gone
    assert heard == [1, 2, 0, 1]
    s.undo(0)
    stop()
    s.undo()
    assert heard == [1, 2, 0, 1]


def test_threads_that_move_one_cursor_lose_no_step():
    s = Schedule(workloads.matmul(64, 64, 64))
    loops = ["i", "j", "k"]

    def work(loop):
        for _ in range(6):
            s.apply(Split(loop, (None, 2)))
            loop = f"{loop}.0"

    threads = [threading.Thread(target=work, args=(loop,)) for loop in loops]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(s.trace) == 18

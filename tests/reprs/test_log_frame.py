"""The table of `read_log`: a summary when it is shown, an ordinary data frame in everything else."""

from __future__ import annotations

import pickle

import pandas
import pytest
from reprs.sanitizer import bars, sanitize

from workbench.log import Record
from workbench.log.reader import COLUMNS, to_frame

HOSTILE = '<img src=x onerror="alert(1)"></td></table>'


def record(k, key="a", status="ok", ms=1.0, **more):
    given = {"task": f"task {key}", "target": "llvm", "flops": 10**6, "elapsed_s": float(k), "origin": "sketch", **more}
    return Record(task_key=key, trial=k, status=status, latency_ms=ms if status == "ok" else None, **given)


def frame(n=30):
    return to_frame(
        record(
            k,
            key="ab"[k % 2],
            status="timeout" if k % 10 == 9 else "ok",
            ms=2.0 - k / 100,
            error="too slow" * (k % 10 == 9),
        )
        for k in range(n)
    )


def seen(table):
    cleaned = sanitize(table._repr_html_())
    assert not cleaned.lost
    assert not cleaned.faults
    return cleaned


def test_it_begins_with_a_summary():
    cleaned = seen(frame())
    for text in ("30 trials", "2 tasks", "3 failed", "3 timeout", "task a", "task b", "1.72", "… 20 more trials"):
        assert text in cleaned.text
    assert bars(cleaned) == [40, 40]
    lines = repr(frame()).splitlines()
    assert lines[0] == "Tuning log: 30 trials, 2 tasks, 29 s, 3 failed"
    assert lines[1] == "  task a: best 1.72 ms, 15 trials"
    assert lines[-1] == "[30 rows × 40 columns]"


@pytest.mark.parametrize(
    "derive",
    [
        lambda f: f.copy(), lambda f: f[f["status"] == "ok"], lambda f: f[["task", "latency_ms"]], lambda f: f.head(3),
        lambda f: f.sort_values("latency_ms"), lambda f: f.assign(x=1), lambda f: f.dropna(subset=["latency_ms"]),
        lambda f: pandas.concat([f, f]), lambda f: f.iloc[2:4], lambda f: f.reset_index(), lambda f: f.astype("object"),
        lambda f: f.merge(f[["trial"]], on="trial"), lambda f: f.T,
    ],
)  # fmt: skip
def test_what_is_derived_is_a_plain_data_frame(derive):
    assert type(derive(frame(12))) is pandas.DataFrame


def test_it_is_a_data_frame():
    table = frame(12)
    assert isinstance(table, pandas.DataFrame)
    assert tuple(table.columns) == COLUMNS
    pandas.testing.assert_frame_equal(table.copy(), pandas.DataFrame(table))
    assert repr(pickle.loads(pickle.dumps(table))) == repr(table)
    assert table.groupby("task_key")["latency_ms"].min().index.tolist() == ["a", "b"]
    table["mine"] = 1
    assert "mine" in table.columns


def test_without_its_columns_it_looks_like_any_other():
    table = frame(12)
    del table["status"]
    assert repr(table) == repr(pandas.DataFrame(table))
    assert "<table" in table._repr_html_()


def test_pandas_own_switch_is_obeyed():
    with pandas.option_context("display.notebook_repr_html", False):
        assert frame(3)._repr_html_() is None


def test_an_empty_log():
    assert "0 trials" in seen(to_frame([])).text
    assert "no trials" in repr(to_frame([]))


def test_a_log_where_everything_failed():
    table = to_frame(record(k, status="build_error", error="first\nLLVM says no") for k in range(3))
    assert "build error: LLVM says no" in seen(table).text
    assert "no valid trial, 3 trials (3 build error)" in repr(table)


def test_hostile_names_stay_text():
    table = to_frame(
        [record(0, task=HOSTILE, origin=HOSTILE), record(1, status="run_error", task=HOSTILE, error=HOSTILE)]
    )
    assert seen(table).text.count("<img src=x onerror") == 5


def test_many_tasks_and_trials_are_cut():
    table = to_frame(record(k, key=f"k{k % 200}", task="long name " * 20) for k in range(2000))
    assert len(table._repr_html_()) < 40_000
    shown = seen(table).text
    assert "… 180 more tasks" in shown
    assert "… 1\u202f990 more trials" in shown
    assert len(repr(table).splitlines()) < 50

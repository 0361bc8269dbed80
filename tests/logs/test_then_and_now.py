"""Then and now: the table by made-up times, and a real one of two records."""

import dataclasses
import json

import pytest

import workbench as wb
from workbench import workloads
from workbench.errors import UsageError
from workbench.logs.replays import Replay, then_and_now, then_and_now_figure
from workbench.runtime.results.measurement import Measurement

STEPS = [["SP", 2, 0, 24, [4], 1], ["RE", 2, [0, 2, 3, 1]]]
GPU = [["AN", 2, 0, 5], ["AN", 2, 1, 6]]


@pytest.fixture
def log(tmp_path):
    """Four records of a product: two that replay, one that does not, one for a GPU."""
    path = tmp_path / "log.json"
    steps = [STEPS, [], [["SP", 9, 0, 24, [4], 1]], GPU]
    lines = [
        {"i": [['["a1b2", 1]', "llvm"], [[], s]], "r": [[1e-3 * (k + 1)], 0, 1.0, 1], "v": "v0.6"}
        for k, s in enumerate(steps)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return wb.logs.open(path)


FUNC = workloads.matmul(24, 16, 20)


def test_rounds_are_taken_in_turns_and_their_median_is_told(log, monkeypatch):
    asked, told = [], []
    times = {0: [4.0, 2.0, 3.0], 1: [1.0, 1.0, 7.0]}

    def measure(self, **options):
        asked.append(self.record)
        busy = "busy" if self.record == 1 else ""
        return Measurement(status="ok", costs_ms=(times[self.record].pop(0),), flops=3_000_000, why_not=busy)

    monkeypatch.setattr(Replay, "measure", measure)
    frame = then_and_now(log, range(4), FUNC, progress=lambda done, of: told.append((done, of)))
    assert asked == [0, 1, 0, 1, 0, 1]
    assert told == [(k, 6) for k in range(1, 7)]
    assert frame["status"].tolist() == ["ok", "ok", "refused", "device"]
    assert frame.loc[0, ["then_ms", "now_ms", "low_ms", "high_ms", "ratio", "gflops"]].tolist() == [1, 3, 2, 4, 3, 1]
    assert frame["why_not"].tolist()[1] == "busy"
    assert "none with the number 9" in frame["why_not"].tolist()[2]
    assert frame.attrs["finding"] == (
        "2 of 4 records are measured here; 3 ms then, 4 ms now in all; 1 do not replay; 1 are for a GPU; "
        "other programs disturbed 1, which may be faster than shown."
    )
    figure = then_and_now_figure(frame)
    assert list(figure.data[1].x) == [1.0, 2.0]
    assert list(figure.data[1].marker.symbol) == ["circle", "circle-open"]


def test_names_of_a_log_are_escaped_in_the_figure(log, monkeypatch):
    monkeypatch.setattr(Replay, "measure", lambda self: Measurement(status="ok", costs_ms=(1.0,), flops=1))
    frame = then_and_now(log, [0], FUNC)
    frame["task"] = "<script>alert(1)</script>"
    assert "<script" not in then_and_now_figure(frame).to_json()


def test_what_fails_is_told_and_not_tried_again(log, monkeypatch):
    asked = []

    def measure(self):
        asked.append(self.record)
        return Measurement(status="wrong_answer", error="long\nC[0, 0] is 3, not 4")

    monkeypatch.setattr(Replay, "measure", measure)
    frame = then_and_now(log, [0], FUNC)
    assert asked == [0]
    assert frame.loc[0, ["status", "why_not"]].tolist() == ["wrong_answer", "C[0, 0] is 3, not 4"]
    assert "1 fail" in frame.attrs["finding"]
    assert "no record has a time" in then_and_now_figure(frame).to_json()


def test_real_times_of_the_best_record_of_each_task(log):
    frame = then_and_now(log, task=FUNC, target="llvm -threads=1", rounds=1)
    assert frame["record"].tolist() == [0]
    assert frame.loc[0, "status"] == "ok"
    assert 0 < frame.loc[0, "now_ms"] < 100


def test_a_record_for_a_gpu_has_no_time_here(log):
    found = wb.logs.replay(log, 3, FUNC)
    assert found.for_a_gpu
    assert not dataclasses.replace(found, schedule=None).for_a_gpu
    for measure in (found.measure, lambda: wb.logs.explain(found)):
        with pytest.raises(UsageError) as caught:
            measure()
        assert caught.value.code == "replay.device"

"""Logs of AutoTVM, TopHub, the graph tuner and the auto-scheduler: what short scripts find in the files."""

import base64
import json
import math
import pickle
from collections import Counter, defaultdict

import pytest
from logs.real_files import files, lines

import workbench as wb
from workbench.errors import LogError
from workbench.logs.importers.ansor import workload_name

AUTOTVM = files("*bert*.log*", "*tophub*.log*", "*graph*.log*")
ANSOR = files("ansor*.json*", "resnet*.json*", "sparse*.json*")
WORDS = ["ok", "constraint", "compile", "compile", "run", "wrong-answer", "build-timeout", "run-timeout", "unknown"]
_NAMES = [path.name for path in AUTOTVM]


def told(path):
    """Return target, task and result of each record, by the format's rules alone."""
    for line in lines(path):
        if "input" in line:
            yield line["input"][0], json.dumps(line["input"][1:]), line["result"]
        elif isinstance(line["i"][0], str):
            yield line["i"][0], json.dumps([*line["i"][1:3], line["i"][5]["t"]]), line["r"]
        else:
            yield line["i"][0][1], line["i"][0][0], line["r"]


@pytest.mark.parametrize("path", [*AUTOTVM, *ANSOR], ids=lambda path: path.name)
def test_counts_statuses_and_the_best_of_each_task(path):
    records = list(told(path))
    best, counts = defaultdict(lambda: math.inf), Counter()
    for target, task, (costs, number, *_) in records:
        counts[WORDS[number]] += 1
        best[target, task] = min(best[target, task], sum(costs) / len(costs) if number == 0 else math.inf)
    log = wb.logs.open(path)
    assert log.format == ("auto-scheduler" if path in ANSOR else "autotvm")
    assert not log.faults
    assert len(log) == len(records)
    found = log.records["status"].value_counts()
    assert {status: count for status, count in found.items() if count} == dict(counts)
    assert len(log.tasks) == len(best)
    assert sorted(log.tasks["best_s"].fillna(math.inf)) == pytest.approx(sorted(best.values()), rel=1e-12)
    assert list(log.records["target"]) == [target for target, *_ in records]


@pytest.mark.parametrize("path", AUTOTVM, ids=_NAMES)
def test_the_rest_of_a_split_follows_from_the_extent(path):
    """Each factor and the rest say between which numbers the extent lies; all records of a task have to agree."""
    log, extents, open_ = wb.logs.open(path), defaultdict(lambda: (0, math.inf)), 0
    for record, (params, task) in enumerate(zip(log.records["params"], log.records["task"], strict=True)):
        raw = log.raw(record)
        entities = raw["config"]["entity"] if "config" in raw else raw["i"][5]["e"]
        assert list(params) == [knob for knob, *_ in entities]
        for knob, kind, value in entities:
            if kind != "sp":
                assert params[knob] == value
                continue
            assert all(a == b for a, b in zip(params[knob], value, strict=True) if b != -1)
            open_ += -1 in params[knob]
            if -1 not in params[knob]:
                least, most = extents[task, knob]
                total = math.prod(params[knob])
                cut = math.prod(size for size in value if size != -1) - 1 if -1 in value else 0
                extents[task, knob] = max(least, total - cut), min(most, total)
    assert all(least <= most for least, most in extents.values()), extents
    if "bert" in path.name or "graph" in path.name:
        assert not open_


def test_what_a_file_is_when_it_is_no_run():
    kinds = {path.name: " ".join(wb.logs.open(path).warnings) for path in AUTOTVM if "excerpt" in path.name}
    assert all(("TopHub" in text) == name.startswith("tophub") for name, text in kinds.items()), kinds
    assert all(("graph tuner" in text) == name.startswith("graph") for name, text in kinds.items()), kinds


def test_devices_of_one_file_stay_apart():
    log = wb.logs.open(next(path for path in AUTOTVM if path.name.startswith("tophub-cuda_v0.10-ex")))
    assert {"1080ti", "titanx", "v100", "tx2", "jetson-nano"} == set(log.records["device"])
    assert len(log.tasks) >= len(set(zip(log.records["task"], log.records["device"], strict=True)))


def test_pickled_records_are_refused(tmp_path):
    row = "\t".join(base64.b64encode(pickle.dumps(part)).decode() for part in ("llvm", "dense", (), {}, 1, [0.1]))
    (tmp_path / "log").write_text(row + "\n" + row + "\n")
    with pytest.raises(LogError) as caught:
        wb.logs.open(tmp_path / "log")
    assert caught.value.code == "log.pickle"
    assert "JSON" in caught.value.hint


def test_each_version_of_an_ansor_task(tmp_path):
    key, target, hardware = '["a1", 8]', "cuda -model=v100", [1, 2, 3, 4, 5, 6, 7, 8]
    tasks = {
        "v0.2": [key, target],
        "v0.3": [key, target, hardware],
        "v0.4": [key, target, hardware, "llvm"],
        "v0.5": [key, target, hardware, "", 2],
        "v0.6": [key, target, hardware, "llvm", 1, ["indices"]],
    }
    written = [{"i": [task, [[], []]], "r": [[1.0], 0, 0.1, 1], "v": v} for v, task in tasks.items()]
    (tmp_path / "log").write_text("".join(json.dumps(line) + "\n" for line in written))
    records = wb.logs.open(tmp_path / "log").records
    extra = dict(zip(tasks, records["extra"], strict=True))
    assert set(records["device"]) == {"v100"}
    assert all(told["workload_key"] == key for told in extra.values())
    assert ["hardware" in told for told in extra.values()] == [False, True, True, True, True]
    assert [told.get("target_host") for told in extra.values()] == [None, None, "llvm", "", "llvm"]
    assert [told.get("layout_rewrite_option") for told in extra.values()] == [None, None, None, 2, 1]
    assert extra["v0.6"]["task_inputs"] == ["indices"]


@pytest.mark.parametrize("costs", [[1e9], [1e10], [10000000000], [math.inf], [math.nan], [0.0], [-1.0], []])
def test_numbers_that_contradict_each_other_are_counted(tmp_path, costs):
    line = {"input": ["llvm", "dense", [], {}], "config": {"index": 1, "entity": []}, "version": 0.2}
    good, bad = [[[1.0], 4, 1.0, 1.0]], [[costs, 0, 1.0, 1.0]]
    rows = [json.dumps(line | {"result": result}) for result in good + bad]
    (tmp_path / "log").write_text("\n".join(rows) + "\n")
    log = wb.logs.open(tmp_path / "log")
    assert list(log.records["status"]) == ["run", "unknown"]
    assert log.records["value"].isna().all()
    assert [text[:10] for text in log.warnings] == ["1 records ", "1 records "]


def test_workload_keys_in_words():
    assert workload_name('["d7b65649a4dd54becea0a52aabbc5af5", 1, [2, 3]]') == "d7b65649(1, [2, 3])"
    assert workload_name('["matmul", 8, "float32"]') == "matmul(8, float32)"
    assert workload_name("nothing like it") == "nothing like it"

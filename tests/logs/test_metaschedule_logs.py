"""MetaSchedule's databases: what a short script finds in the real one, and one that is made up of failures."""

import base64
import gzip
import json
import re
import statistics

import pytest
from logs.real_files import EXCERPTS, lines

import workbench as wb
from workbench.logs.tir import read_module

FOLDER = EXCERPTS / "metaschedule" / "conv14-relu-32trials"
RECORDS, WORKLOADS = FOLDER / "database_tuning_record.json.gz", FOLDER / "database_workload.json.gz"


@pytest.fixture(scope="module")
def database():
    return wb.logs.open(FOLDER)


def test_costs_are_the_means_and_medians_stay_reachable(database):
    told = [record[1][1] for record in lines(RECORDS)]
    assert len(database) == 32
    assert not database.warnings
    assert list(database.records["status"]) == ["ok"] * 32
    assert list(database.records["cost_s"]) == pytest.approx([statistics.mean(secs) for secs in told], rel=1e-12)
    assert [extra["median_s"] for extra in database.records["extra"]] == [statistics.median(secs) for secs in told]
    best = min(range(32), key=lambda k: statistics.mean(told[k]))
    assert list(database.tasks["best_record"]) == [best]
    assert database.raw(best) == list(lines(RECORDS))[best]


def test_times_of_day_come_from_the_text_log(database):
    with gzip.open(FOLDER / "task_0_main.log.gz", "rt") as file:
        printed = re.findall(r"Trial #\d+: GFLOPs: \S+ Time: (\S+) us", file.read())
    medians = [extra["median_s"] * 1e6 for extra in database.records["extra"]]
    assert medians == pytest.approx([float(number) for number in printed], abs=1e-3)
    assert list(database.records["elapsed_s"]) == [25.0] * 16 + [59.0] * 16
    assert list(database.records["generation"]) == [1] * 16 + [2] * 16


def test_decisions_have_names_of_loops_and_their_choices(database):
    decisions = [dict(record[1][0][1]) for record in lines(RECORDS)]
    assert list(database.records["params"][0]) == [
        *(f"SamplePerfectTile#{k} of {loop} of C" for k, loop in enumerate(["n", "y", "x", "f", "ry", "rx", "rc"])),
        "SampleCategorical#7 of unroll_explicit of root",
    ]
    for params, told in zip(database.records["params"], decisions, strict=True):
        *tiles, unroll = params.values()
        assert [*tiles, [0, 16, 64, 512].index(unroll)] == list(told.values())
    space = database.params
    assert space["SampleCategorical#7 of unroll_explicit of root"] == [0, 16, 64, 512]
    twelve = [a * b * c * d == 12 for a in range(13) for b in range(13) for c in range(13) for d in range(13)]
    assert len(space["SamplePerfectTile#1 of y of C"]) == sum(twelve)
    assert {extra["design_space"] for extra in database.records["extra"]} == {0, 1}


def test_either_file_alone_opens(tmp_path):
    alone = tmp_path / "database_tuning_record.json"
    alone.write_bytes(gzip.decompress(RECORDS.read_bytes()))
    bare = wb.logs.open(alone)
    assert len(bare) == 32
    assert next(iter(bare.records["params"][0])) == "SamplePerfectTile#0"
    named = wb.logs.open(alone, workloads=WORKLOADS)
    assert next(iter(named.records["params"][0])) == "SamplePerfectTile#0 of n of C"
    assert len(wb.logs.open([WORKLOADS, RECORDS])) == 32
    assert "no records" in wb.logs.open(WORKLOADS).warnings[0]


def test_failures_and_their_texts(tmp_path):
    trace = [[["GetSBlock", [], ["C", "main"], ["b0"]], ["SampleComputeLocation", ["b0"], [], ["l1"]]], [[1, -2]]]
    rows = [[10000000000], [2e-6, 1e-6, 6e-6], [1e10], None]
    body = "".join(json.dumps([0, [trace, secs, {"kind": "cuda", "tag": "nvidia/t4"}, None]]) + "\n" for secs in rows)
    (tmp_path / "database_tuning_record.json").write_text(body + body[:40])
    (tmp_path / "logs").mkdir()
    begin = "2026-01-02 03:04:05 [INFO] [task_scheduler.cc:144] [Task #0: main] Trial"
    (tmp_path / "logs" / "x.task_0_main.log").write_text(
        "2026-01-02 03:04:00 [INFO] [task_scheduler.cc:175] Initializing\n"
        f"{begin} #1: Error in building:\nLLVM: <b>no</b>\nmore of it\n# from tvm.script import ir as I\n@I.ir_module\n"
        f"{begin} #2: GFLOPs: 1.0. Time: 2.0000 us. Best GFLOPs: 1.0\n"
        f"{begin} #3: Error in running:\nRunner: Timeout, killed after 10 seconds\n"
    )
    log = wb.logs.open(tmp_path)
    assert [str(fault) for fault in log.faults] == ["line 5: the line is cut off"]
    assert list(log.records["status"]) == ["compile", "ok", "run-timeout", "unknown"]
    assert log.records["error"][0] == "LLVM: <b>no</b>\nmore of it"
    assert list(log.records["cost_s"][[1]]) == [pytest.approx(3e-6)]
    assert list(log.records["device"]) == ["nvidia/t4"] * 4
    assert list(log.records["params"][0].items()) == [("SampleComputeLocation#0 of C", -2)]


def test_a_text_log_of_another_run_is_told(tmp_path):
    for path in (RECORDS, WORKLOADS):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "task_0_main.log").write_text("[Task #0: main] Trial #1: GFLOPs: 1.0. Time: 7.0 us. Best GFLOPs: 1\n")
    log = wb.logs.open(tmp_path)
    assert log.records["elapsed_s"].isna().all()
    assert "other times" in log.warnings[0]


def test_a_module_is_read_without_tvm():
    (main,) = read_module(next(lines(WORKLOADS))[1]).values()
    assert [(buffer.name, buffer.shape) for buffer in main.params] == [
        ("A", (1, 14, 14, 32)), ("W", (3, 3, 32, 32)), ("relu", (1, 12, 12, 32)),
    ]  # fmt: skip
    assert [(block.name, [loop.extent for loop in block.loops]) for block in main.blocks] == [
        ("C", [1, 12, 12, 32, 3, 3, 32]), ("relu", [1, 12, 12, 32]),
    ]  # fmt: skip
    assert [axis.reduced for axis in main.blocks[0].axes] == [False] * 4 + [True] * 3


@pytest.mark.parametrize("bad", ["", "====", base64.b64encode(b"\0" * 9).decode(), base64.b64encode(b"x").decode()])
def test_a_damaged_module_is_told_and_the_records_still_open(tmp_path, bad):
    (tmp_path / "database_workload.json").write_text(json.dumps(["12", bad]) + "\n")
    (tmp_path / "database_tuning_record.json.gz").write_bytes(RECORDS.read_bytes())
    log = wb.logs.open(tmp_path)
    assert len(log) == 32
    assert "cannot be read" in log.warnings[0]

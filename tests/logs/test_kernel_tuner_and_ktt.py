"""Kernel Tuner's caches, T4, KTT and CLBlast: what the table says is what ten lines of Python say of the file."""

import collections
import json
import math

import pandas as pd
import pytest
from tuner_files import HERE, document, files, name

import workbench as wb
from workbench.errors import LogError, UsageError

CACHES = files("kernel-tuner/*.json", "kernel-tuner/*.json.gz")
CACHES = [path for path in CACHES if "T1" not in path.name and "_T4" not in path.name]
T4 = files("*/*_T4*.json", "*/*_T4*.json.gz")
KTT = [path for path in files("ktt/*.json", "ktt/*.json.gz") if "T1" not in path.name and "_T4" not in path.name]
TWINS = [path for path in T4 if path.with_name(path.name.replace("_T4", "")).exists()]
KERNEL_TUNER = HERE / "kernel-tuner"
MILLISECOND = {"ms": 1.0, "us": 1e-3}


def test_there_are_files():
    assert len(CACHES) >= 8
    assert len(T4) >= 5
    assert len(KTT) >= 2


@pytest.mark.parametrize("path", CACHES, ids=name)
def test_a_cache_says_what_its_json_says(path):
    cache = document(path)
    entries = list(cache["cache"].values())
    objective = cache.get("objective", "time")
    objective = objective[0] if isinstance(objective, list) else objective
    good = [entry[objective] for entry in entries if isinstance(entry[objective], float)]
    failed = collections.Counter(entry[objective] for entry in entries if isinstance(entry[objective], str))
    best = min(good) if objective == "time" else max(good)

    log = wb.logs.open(path)
    (task,) = log.tasks.itertuples()
    assert (task.records, task.ok, task.best) == (len(entries), len(good), best)
    counts = log.records["status"].value_counts()
    assert counts["run"] == failed["RuntimeFailedConfig"]
    assert counts["compile"] == failed["CompilationFailedConfig"]
    assert log.params == cache["tune_params"]
    assert task.device == cache["device_name"]
    first = entries[int(task.best_record)]
    assert log.records.at[task.best_record, "params"] == {key: first[key] for key in cache["tune_params_keys"]}
    assert log.raw(int(task.best_record)) == first
    if objective == "time":
        assert math.isclose(task.best_s, best / 1e3)
        assert [list(r) for r in log.records["repeats"]] == [entry.get("times", []) for entry in entries]


@pytest.mark.parametrize("path", T4, ids=name)
def test_t4_says_what_its_json_says(path):
    results = document(path)["results"]
    objective = results[0]["objectives"][0]
    values = [next(m for m in r["measurements"] if m["name"] == objective)["value"] for r in results]
    good = [v for v, r in zip(values, results, strict=True) if r["invalidity"] == "correct" and isinstance(v, float)]
    log = wb.logs.open(path)
    (task,) = log.tasks.itertuples()
    assert (task.records, task.ok) == (len(results), len(good))
    assert task.best == (max(good) if objective == "score" else min(good))
    assert log.records["params"].tolist() == [r["configuration"] for r in results]


@pytest.mark.parametrize("path", TWINS, ids=name)
def test_t4_and_cache_of_a_run_give_one_table(path):
    twin, cache = wb.logs.open(path), wb.logs.open(path.with_name(path.name.replace("_T4", "")))
    if "ktt" in str(path.parent):
        pd.testing.assert_frame_equal(twin.table(), cache.table())
        times = ["search_s", "verify_s", "compile_s"]
    else:
        pd.testing.assert_frame_equal(twin.table(), cache.table())
        times = ["search_s", "verify_s", "compile_s", "timestamp"] if "hyper" not in path.name else []
    if "v1.5.0" in path.name:
        times = ["compile_s", "verify_s", "run_s", "timestamp"]
    pd.testing.assert_frame_equal(twin.records[times], cache.records[times])
    if cache.records["objective"].iloc[0] == "time":
        assert twin.records["repeats"].tolist() == cache.records["repeats"].tolist()
        assert list(twin.records["statistic"]) == list(cache.records["statistic"])


def test_the_excerpt_of_a_t4_gives_the_rows_of_its_cache():
    twin = wb.logs.open(KERNEL_TUNER / "convolution_milo-A100_T4-every-10th.json.gz").table()
    cache = wb.logs.open(KERNEL_TUNER / "convolution_milo-A100.json.gz").table()
    pd.testing.assert_frame_equal(twin.reset_index(drop=True), cache[::10].reset_index(drop=True))


@pytest.mark.parametrize("path", KTT, ids=name)
def test_ktt_says_what_its_json_says(path):
    results = document(path)["Results"]
    good = [r["TotalDuration"] for r in results if r["Status"] == "Ok"]
    log = wb.logs.open(path)
    (task,) = log.tasks.itertuples()
    assert (task.records, task.ok, task.best, task.unit) == (len(results), len(good), min(good), "us")
    assert math.isclose(task.best_s, min(good) * 1e-6)
    assert (log.records.loc[log.records["status"] != "ok", "value"].isna()).all()
    configurations = [{pair["Name"]: pair["Value"] for pair in r["Configuration"]} for r in results]
    assert log.records["params"].tolist() == configurations


def test_counters_of_the_profiler_are_kept():
    log = wb.logs.open(HERE / "ktt" / "coulomb_2080_full_search_space.json.gz")
    extra = log.records["extra"].iloc[0]
    assert extra["RegistersCount"] == 66
    assert extra["dram__sectors_read.sum"] == 2100194.0


def test_the_best_are_those_of_the_readme():
    best = {
        "convolution_milo-A100.json.gz": (0.5536, "32,4,1,3,1,0,1,1,15,15"),
        "convolution_milo-A4000.json.gz": (1.021172, "256,1,2,4,0,0,0,1,15,15"),
        "vector_add-time-energy-RTX4000Ada.json": (2.97676, "832,1080"),
    }
    for file, (time, key) in best.items():
        log = wb.logs.open(KERNEL_TUNER / file)
        (task,) = log.tasks.itertuples()
        assert abs(task.best - time) < 1e-5
        assert ",".join(map(str, log.records.at[task.best_record, "params"].values())) == key


def test_two_tuners_disagree_about_the_winner():
    """Kernel Tuner and KTT measured pnpoly on the same model of GPU: different winners, 68 failures in dispute."""
    ours = wb.logs.open(KERNEL_TUNER / "pnpoly-RTX_3090-kerneltuner_original.json.gz")
    theirs = wb.logs.open(HERE / "ktt" / "pnpoly-RTX_3090.json.gz")
    names = list(ours.params)
    left = ours.table()[[*names, "status", "cost_s"]]
    right = theirs.table().drop(columns="VERTICES").rename(columns=str.lower)[[*names, "status", "cost_s"]]
    both = left.merge(right, on=names, validate="one_to_one")
    assert len(both) == 4092
    failed = pd.DataFrame({side: both[f"status_{side}"] != "ok" for side in "xy"})
    assert (failed["x"] != failed["y"]).sum() == 68
    winners = both.loc[[both["cost_s_x"].idxmin(), both["cost_s_y"].idxmin()]]
    assert winners["cost_s_x"].iloc[0] * 1e3 == pytest.approx(8.714, abs=5e-4)
    assert winners["cost_s_y"].iloc[1] * 1e3 == pytest.approx(7.224, abs=5e-4)
    assert winners[names].iloc[0].tolist() != winners[names].iloc[1].tolist()
    ratio = (both["cost_s_y"] / both["cost_s_x"]).dropna()
    assert ratio.quantile([0.05, 0.5, 0.95]).round(2).tolist() == [0.78, 0.93, 1.05]


def test_a_time_that_is_not_the_mean_is_counted():
    log = wb.logs.open(KERNEL_TUNER / "pnpoly-RTX_3090-every-10th.json.gz")
    entries = document(KERNEL_TUNER / "pnpoly-RTX_3090-every-10th.json.gz")["cache"].values()
    odd = [
        e
        for e in entries
        if isinstance(e["time"], float) and abs(sum(e["times"]) / len(e["times"]) / e["time"] - 1) > 1e-6
    ]
    assert len(odd) > 300
    assert any(warning.startswith(f"{len(odd)} of the records have a value") for warning in log.warnings)
    assert not log.faults


def test_what_is_not_said_is_asked_or_told():
    path = KERNEL_TUNER / "hyperparam-genetic_algorithm.json"
    (warning,) = wb.logs.open(path).warnings
    assert "'score'" in warning
    assert "large" in warning
    told = wb.logs.open(path, direction="min")
    assert not told.warnings
    assert told.tasks["best"].iloc[0] == min(e["score"] for e in document(path)["cache"].values())
    with pytest.raises(UsageError) as caught:
        wb.logs.open(path, direction="up")
    assert caught.value.code == "usage.direction"


def test_another_objective():
    path = KERNEL_TUNER / "vector_add-time-energy-RTX4000Ada.json"
    log = wb.logs.open(path, objective="energy", unit="J", device="here", task="add")
    (task,) = log.tasks.itertuples()
    assert task.best == min(e["energy"] for e in document(path)["cache"].values())
    assert (task.unit, task.objective, task.direction, task.device, task.task) == ("J", "energy", "min", "here", "add")
    assert log.records["cost_s"].isna().all()
    assert not log.warnings


HEADER = '{"kernel_name": "k", "tune_params_keys": ["a"], "tune_params": {"a": [1, 2, 3, 4]}, "cache": {\n'


def _open(tmp_path, text):
    path = tmp_path / "cache.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return wb.logs.open(path)


def test_a_torn_cache_keeps_what_is_whole(tmp_path):
    rows = [f'"{n}": {{"a": {n}, "time": {n}.5}}' for n in range(1, 5)]
    torn = _open(tmp_path, HEADER + ",\n".join(rows)[:-9])
    assert torn.records["value"].tolist() == [1.5, 2.5, 3.5]
    assert [str(fault) for fault in torn.faults] == [
        "line 5: damaged, no JSON (Expecting property name enclosed in double quotes)"
    ] or torn.faults[0].where == "line 5"
    assert "not closed" in torn.warnings[-1]
    for end in (",\n", ",", "", "}", "\n}}\n\n"):
        log = _open(tmp_path, HEADER + ",\r\n".join(rows) + end)
        assert len(log) == 4
        assert not log.faults


def test_damage_in_the_middle_costs_one_record(tmp_path):
    rows = [f'"{n}": {{"a": {n}, "time": {n}.5, "times": [{n}.25, {n}.75]}}' for n in range(1, 9)]
    rows[3] = rows[3].replace("times", 'ti"mes').replace("[", "{")
    for separator, place in ((",\n", "line 5"), (", ", "cache[4]")):
        header = HEADER if separator == ",\n" else HEADER.replace("\n", "")
        log = _open(tmp_path, header + separator.join(rows) + "}}")
        assert log.records["value"].tolist() == [1.5, 2.5, 3.5, 5.5, 6.5, 7.5, 8.5]
        assert [fault.where for fault in log.faults] == [place]


def test_odd_values(tmp_path):
    odd = [
        "NaN",
        "Infinity",
        "1e20",
        "1e400",
        "true",
        "null",
        '"0.5"',
        "[1]",
        "1" * 5000,
        '"<script>alert(1)</script>"',
        "-Infinity",
    ]
    rows = [f'"{n}": {{"a": {n}, "time": {value}}}' for n, value in enumerate(odd)]
    new = '"77": {"a": 77, "__error__": "CompilationFailedConfig"}'
    log = _open(tmp_path, HEADER + ",\n".join([*rows, new, '"78": {"a": 78, "time": 2}']) + "}}")
    assert len(log) == len(odd) + 2 - 1
    assert log.records["status"].tolist() == ["unknown"] * (len(odd) - 1) + ["compile", "ok"]
    assert log.records["value"].tolist()[-1] == 2.0
    assert log.records["value"].iloc[:-1].isna().all()
    assert len(log.faults) == 1, "an integer of 5000 digits is not read"


@pytest.mark.parametrize(
    "text",
    [
        HEADER + '"1": {"a": 1, "time": ' + "[" * 100_000,
        HEADER + '"1": ' + '{"a": ' * 50_000,
        HEADER.replace('"cache": {', '"cache": ['),
        HEADER.replace('"cache": {', '"cache": 5}'),
        HEADER.replace('"tune_params": {', '"tune_params": ['),
        HEADER.replace('"k"', '"\xff'),
        HEADER + "}} and more",
        HEADER + '"1": 5, "2": {"a": 2, "time": 1.0}}}',
    ],
)
def test_no_text_is_fatal(tmp_path, text):
    log = _open(tmp_path, text)
    assert log.warnings
    assert len(log) <= 1
    assert all(len(str(fault)) < 300 for fault in log.faults)


def test_a_hub_file_of_ktt_in_t4_has_its_unit_from_the_measurements():
    log = wb.logs.open(HERE / "ktt" / "coulomb_2080_full_search_space_T4.json.gz")
    assert log.tasks["unit"].tolist() == ["us"]
    assert log.records["compile_s"].iloc[0] == pytest.approx(1.067, abs=1e-3)
    assert log.records["timestamp"].isna().all(), "all records have the time at which the file was written"


def test_elapsed_time_begins_before_the_first_record():
    log = wb.logs.open(KERNEL_TUNER / "mm96-cpu-v1.5.0.json")
    spent = log.records[["compile_s", "run_s", "verify_s"]].sum(axis=1)
    assert log.records["elapsed_s"].iloc[0] == pytest.approx(spent.iloc[0])
    assert log.records["elapsed_s"].is_monotonic_increasing


def test_clblast_names_device_and_sizes(tmp_path):
    path = tmp_path / "clblast_xgemm_1_32.json"
    path.write_text(wb.logs.IMPORTERS["clblast"].example)
    log = wb.logs.open(path)
    (task,) = log.tasks.itertuples()
    assert (task.task, task.device, task.best) == ("xgemm_1 32-bit m=1024", "GeForce GTX 970", 2.345)
    damaged = json.loads(path.read_text())
    damaged["results"][1]["time"] = 0.0
    path.write_text(json.dumps(damaged))
    assert [fault.what for fault in wb.logs.open(path).faults] == ["the time is no number above 0"]


def test_the_database_has_a_task_for_each_kernel_and_device(tmp_path):
    path = tmp_path / "database.json"
    path.write_text(wb.logs.IMPORTERS["clblast-database"].example)
    log = wb.logs.open(path)
    assert log.tasks[["task", "device", "best"]].values.tolist() == [
        ["xgemm 32-bit", "GeForce GTX 970", 2.345], ["xgemm 32-bit", "Fiji", 1.5], ["xdot 32-bit", "Fiji", 0.015],
    ]  # fmt: skip
    assert log.records["params"].iloc[0] == {"MWG": 64, "NWG": 64}


def test_a_space_alone_is_no_log():
    with pytest.raises(LogError) as caught:
        wb.logs.open(KERNEL_TUNER / "pnpoly-T1.json")
    assert caught.value.code in ("log.unknown_format", "log.no_records")

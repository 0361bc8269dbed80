"""``workbench log`` for logs of any tuner: the same figures as the table, other forms that open again, one page."""

import gzip
import importlib.util
import io
import json
import math
import re
import sys

import pandas as pd
import pytest
from errors.test_cli_errors import invoke
from tuner_files import HERE, document

import workbench as wb
from workbench.cli.reading_line import ReadingLine
from workbench.errors import LogError, UsageError
from workbench.log import load_log
from workbench.logs import IMPORTERS
from workbench.logs.cells import shown
from workbench.logs.conversion import FORMS, convert, flat
from workbench.logs.reporting import report
from workbench.logs.table import columns

A100 = HERE / "kernel-tuner" / "convolution_milo-A100.json.gz"
T1 = HERE / "kernel-tuner" / "convolution_milo-T1.json"
KERNEL_TUNER = HERE / "kernel-tuner" / "pnpoly-RTX_3090-kerneltuner_original.json.gz"
KTT = HERE / "ktt" / "pnpoly-RTX_3090.json.gz"
SCORES = HERE / "kernel-tuner" / "hyperparam-genetic_algorithm.json"
SMALL = HERE / "kernel-tuner" / "mm96-cpu-v1.5.0.json"


@pytest.fixture
def run(capfd):
    """Run ``workbench log``: exit code, standard output, standard error."""
    return lambda *arguments: invoke(capfd, "log", *arguments)


@pytest.fixture
def told(run):
    """Run ``workbench log … --json`` and return the object, and what was said beside it."""

    def told(*arguments):
        code, out, err = run(*arguments, "--json")
        assert code == 0, err
        return json.loads(out), err

    return told


def test_summary_of_a_cache(told, run):
    data, _ = told("summary", A100, "--space", T1)
    (task,) = data["tasks"]
    best = min(e["time"] for e in document(A100)["cache"].values() if isinstance(e["time"], float))
    assert (data["format"], data["records"], task["failed"], task["best"]) == ("kernel-tuner", 4362, 161, best)
    assert [(f["status"], f["told"], f["count"]) for f in data["failures"]] == [
        ("run", "RuntimeFailedConfig", 155), ("compile", "CompilationFailedConfig", 6),
    ]  # fmt: skip
    assert data["space"] == {"configurations": 4362, "combinations": 10240, "tried": 4362, "restricted": True}
    assert data["parameters"]["block_size_x"] == 16
    code, out, _ = run("summary", str(A100))
    assert code == 0
    assert "kernel-tuner: 4,362 records of 1 task in convolution_milo-A100.json.gz" in out
    assert "0.5536 ms" in out


def test_several_files_and_a_warning(told):
    data, err = told("summary", SMALL, SCORES)
    assert data["records"] == 148
    assert len(data["tasks"]) == 2
    assert "warning: The log does not say whether small or large values of 'score' are good" in err


def test_best_is_the_best(told):
    data, _ = told("best", "-k", 3, SCORES)
    scores = sorted((e["score"] for e in document(SCORES)["cache"].values()), reverse=True)
    assert [record["value"] for record in data["records"]] == scores[:3]
    low, err = told("best", SCORES, "--direction", "min")
    assert low["records"][0]["value"] == scores[-1]
    assert not err


def test_the_best_of_a_log(run):
    log = wb.logs.open(A100)
    times = sorted(
        (e["time"], n) for n, e in enumerate(document(A100)["cache"].values()) if isinstance(e["time"], float)
    )
    assert list(zip(log.best(4)["value"], log.best(4)["record"], strict=True)) == times[:4]
    assert log.best(task="convolution_kernel 4096x4096")["params"].iloc[0]["block_size_x"] == 32
    for wrong, code in (({"task": "none"}, "usage.task"), ({"k": 0}, "usage.number")):
        with pytest.raises(UsageError) as caught:
            log.best(**wrong)
        assert caught.value.code == code
    heads, _, first, *_ = run("best", "-k", "2", str(A100))[1].splitlines()
    cells = dict(zip(*(re.split("  +", line) for line in (heads, first)), strict=True))  # none is cut off
    best = {name: str(value) for name, value in log.best()["params"].iloc[0].items()}
    assert cells | best == cells
    assert (cells["Record"], cells["Best"]) == ("619", "0.5536 ms")


def test_the_name_of_a_parameter_is_no_order_to_a_terminal(run, tmp_path):
    path = tmp_path / "cache.json"
    path.write_text(SMALL.read_text().replace('"TI"', r'"\u001b]0;x\u0007TI\nT"'))
    code, out, _ = run("best", str(path))
    assert code == 0
    assert "TI T" in out
    assert not set("\x1b\x07") & set(out)


def test_times_stand_in_the_unit_that_fits():
    for value, unit, text in (
        (1.129e-4, "s", "112.9 µs"),
        (12910.0, "us", "12.91 ms"),
        (7224.0, "us", "7224 µs"),
        (0.5536, "ms", "0.5536 ms"),
        (math.nan, "s", "-"),
        (None, "", "-"),
        (math.inf, "s", "inf s"),
        (0.0, "s", "0 s"),
        (3.0, "", "3"),
        (1e-4, "J", "0.0001 J"),
    ):
        assert shown(value, unit) == text


def test_winners_without_times_did_not_fail(told, tmp_path):
    path = tmp_path / "triton.log"
    IMPORTERS["triton-text"]().write_example(path)
    log = wb.logs.open(path)
    data, _ = told("summary", path)
    counts = log.records.groupby("task", sort=False)["status"].agg(lambda s: (s != "ok").sum())
    assert [task["failed"] for task in data["tasks"]] == counts.tolist()
    assert sum(task["failed"] for task in data["tasks"]) == sum(kind["count"] for kind in data["failures"])


def test_diff_of_two_tuners(told, run):
    data, _ = told("diff", KERNEL_TUNER, KTT)
    (task,) = data["tasks"]
    assert (round(task["first"], 2), round(task["second"], 2), task["winner"]) == (8.71, 7.22, "second")
    assert (task["both"], task["disagree"], len(data["disagreements"])) == (4092, 68, 68)
    code, out, _ = run("diff", str(KERNEL_TUNER), str(KTT))
    assert code == 0
    assert "and 63 more" in out
    assert re.search(r"8\.714 ms +7\.224 ms +0\.829 +second +4092", out)


@pytest.mark.parametrize("form", [form for form in FORMS if form != ".parquet"])
def test_other_forms(told, run, form, tmp_path):
    path = tmp_path / f"out{form}"
    data, _ = told("convert", A100, "-o", path)
    assert data["records"] == 4362
    log = wb.logs.open(A100)
    if form.startswith(".csv"):
        frame = pd.read_csv(path)
        assert len(frame) == 4362
        assert frame["cost_s"].min() == log.tasks["best_s"].iloc[0]
        assert frame["params.block_size_x"].tolist() == [p["block_size_x"] for p in log.records["params"]]
        assert [json.loads(r) for r in frame["repeats"]] == [list(r) for r in log.records["repeats"]]
    else:
        again = wb.logs.open(path)
        pd.testing.assert_frame_equal(again.table(), log.table(), check_exact=False)
        for name in ("told", "statistic", "task", "device"):
            assert again.records[name].tolist() == log.records[name].tolist()
    if form == ".tunelog.jsonl":
        own = load_log(path)
        assert len(own.records) == 4362
        assert min(r.latency_ms for r in own.records if r.ok) == pytest.approx(0.5536, abs=1e-4)
        code, out, _ = run("summary", str(path))
        assert code == 0
        assert "Trials: 4362" in out


@pytest.mark.parametrize("format", sorted(set(IMPORTERS) - {"workbench"}))
def test_our_own_form_loses_nothing_of_the_table(format, tmp_path):
    importer = IMPORTERS[format]()
    importer.write_example(tmp_path / "log")
    log = wb.logs.open(tmp_path / "log", **importer.example_hints)
    if not log.records["cost_s"].notna().any():
        pytest.skip("no times")
    convert(log, tmp_path / "out.tunelog.jsonl")
    again = wb.logs.open(tmp_path / "out.tunelog.jsonl")
    columns = [name for name in log.records.columns if name not in ("run", "where")]
    one, other = (found.records[columns].astype({"generation": float, "value": float}) for found in (log, again))
    pd.testing.assert_frame_equal(one, other, check_dtype=False, check_categorical=False)


PYARROW = importlib.util.find_spec("pyarrow")


@pytest.mark.skipif(PYARROW is not None, reason="pyarrow is here")
def test_parquet_without_pyarrow_says_what_to_install(run, tmp_path):
    code, _, err = run("convert", SMALL, "-o", tmp_path / "out.parquet")
    assert code == 3
    assert "[log.pyarrow]" in err
    assert "schedule-workbench[parquet]" in err


@pytest.mark.skipif(PYARROW is None, reason="wants pyarrow")
def test_parquet(told, tmp_path):
    path = tmp_path / "out.parquet"
    told("convert", SMALL, "-o", path)
    frame = pd.read_parquet(path)
    log = wb.logs.open(SMALL)
    assert frame["params.TI"].tolist() == flat(log)["params.TI"].tolist()
    assert frame["cost_s"].tolist() == log.records["cost_s"].tolist()


def test_records_of_a_large_log_are_written_like_others(monkeypatch):
    plain = flat(wb.logs.open(SMALL))
    monkeypatch.setattr(columns, "PACKED_FROM", 1)
    pd.testing.assert_frame_equal(flat(wb.logs.open(SMALL)), plain)


def test_what_cannot_be_converted(run, tmp_path):
    log = wb.logs.open(SCORES)
    for name, code in (
        ("x.tunelog.jsonl", "log.no_times"),
        ("x.txt", "usage.log_form"),
        ("no/x.csv", "log.unwritable"),
    ):
        with pytest.raises((LogError, UsageError)) as caught:
            convert(log, tmp_path / name)
        assert caught.value.code == code
    assert convert(log, tmp_path / "x.csv") == 108
    copy = tmp_path / "cache.csv"
    copy.write_bytes(SMALL.read_bytes())
    code, _, err = run("convert", str(copy), "-o", str(copy))
    assert code == 3
    assert "over itself" in err
    assert copy.read_bytes() == SMALL.read_bytes()


HOSTILE = '</script><script>alert("x")</script><img src=x onerror=alert(1)>'


def test_a_page_with_the_figures_and_nothing_from_outside(told, tmp_path):
    path = tmp_path / "page.html"
    cache = document(SMALL)
    cache["kernel_name"], cache["device_name"] = HOSTILE, HOSTILE
    cache["tune_params_keys"][0] = HOSTILE
    cache["cache"] = {k: {HOSTILE if n == "TI" else n: v for n, v in e.items()} for k, e in cache["cache"].items()}
    hostile = tmp_path / "cache.json"
    hostile.write_text(json.dumps(cache))
    data, _ = told("report", hostile, "-o", path)
    assert {"Best so far", "Distribution", "Coverage", "Repeats and noise"} <= set(data["figures"])
    page = path.read_text()
    assert "default-src 'none'" in page
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    outside = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert not re.search(r"<[a-z][^<>]*\s(src|href)\s*=", outside)
    assert page.count("Plotly.newPlot(") >= len(data["figures"])
    with pytest.raises(UsageError) as caught:
        report(wb.logs.open(SMALL), tmp_path / "page.pdf")
    assert caught.value.code == "usage.log_form"


def test_a_log_without_results_gives_a_page_too(told, tmp_path):
    cache = document(SMALL)
    for entry in cache["cache"].values():
        entry["time"] = "RuntimeFailedConfig"
    failed = tmp_path / "failed.json"
    failed.write_text(json.dumps(cache))
    data, _ = told("report", failed, "-o", tmp_path / "page.html")
    assert "Distribution" not in data["figures"]
    assert told("best", failed)[0]["records"] == []
    cache["cache"] = {}
    failed.write_text(json.dumps(cache))
    for action in ("summary", "best"):
        assert told(action, failed)[0]["records"] in (0, [])
    assert told("report", failed, "-o", tmp_path / "page.html")[0]["figures"] == []


def test_unknown_files_are_errors(run, tmp_path):
    text = tmp_path / "notes.json"
    text.write_text('["hello", "world"]\n')
    for action in ("summary", "best"):
        code, out, err = run(action, text)
        assert (code, out) == (3, "")
        assert "[log.unknown_format]" in err
    code, _, err = run("best", str(T1))
    assert code == 3
    assert "[log.no_records]" in err
    code, _, err = run("diff", str(SMALL), str(tmp_path / "none.json"))
    assert code == 3
    assert "[log.missing]" in err
    code, _, err = run("diff", str(SMALL), str(SMALL), "--rename", "x")
    assert code == 2


def test_the_columns_of_a_table_of_ones_own(told, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("tile,unroll,ms,state\n8,1,0.25,ok\n16,0,0.5,ok\n")
    columns = ["--column", "cost=ms", "--column", "params=tile,unroll", "--column", "status=state"]
    data, _ = told("best", path, *columns, "--unit", "ms")
    assert data["records"][0]["params"] == {"tile": 8, "unroll": 1}


TOPHUB = HERE / "autotvm" / "tophub-cuda_v0.10-excerpt.log.gz"


def test_diff_of_logs_with_a_task_on_several_devices(told, run, tmp_path):
    lines = gzip.decompress(TOPHUB.read_bytes()).decode().splitlines()
    lines = [line for line in lines if line.startswith("{")]
    lines += [re.sub('model=[^"]*', "model=another", line) for line in lines]
    records = [json.loads(line) for line in lines]
    assert len({json.dumps(record["input"]) for record in records}) == len(records)
    first, second = tmp_path / "first.log", tmp_path / "second.log"
    first.write_text("\n".join(lines))
    for record in records[::2]:
        record["result"][0] = [2 * time for time in record["result"][0]]
    second.write_text("".join(json.dumps(record) + "\n" for record in records[:-1]))
    data, _ = told("diff", first, second)
    ratios = sorted(round(task["ratio"], 6) for task in data["tasks"])
    assert (ratios.count(2.0), ratios.count(1.0)) == (len(records[:-1:2]), len(records[1:-1:2]))
    assert {task["device"] for task in data["tasks"]} == {r["input"][0].split("=")[1] for r in records}
    assert (len(data["only_first"]), data["only_second"], data["not_compared"]) == (1, [], {})
    assert re.search(r"^Task +Device +First", run("diff", first, second)[1], re.M)


def test_a_task_that_two_tuners_name_differently(tmp_path, told):
    frame = pd.DataFrame({"kernel": ["a", "a", "b"], "tile": [1, 2, 1], "ms": [3.0, 2.0, 1.0]})
    logs = []
    for k, names in enumerate(({}, {"a": "A kernel", "b": "B kernel"})):
        path = tmp_path / f"{k}.csv"
        frame.assign(kernel=frame["kernel"].replace(names), ms=frame["ms"] * (k + 1)).to_csv(path, index=False)
        logs.append(wb.logs.open(path, columns={"cost": "ms", "params": ["tile"], "task": "kernel"}, unit="ms"))
    same = {"A kernel": "a", "B kernel": "b"}
    assert wb.logs.analysis.compare(*logs).attrs["only_second"] == ["A kernel", "B kernel"]
    assert wb.logs.analysis.compare(*logs, tasks=same)["ratio"].tolist() == [2.0, 2.0]
    assert len(wb.logs.analysis.both_tried(*logs, tasks=same)) == 3
    shares = wb.logs.analysis.portability(logs, "a", tasks=same)["share"]
    assert shares.tolist() == [1.0, 1.0, 1.0, 1.0]
    with pytest.raises(UsageError, match="has no task 'C'"):
        wb.logs.analysis.compare(*logs, tasks={"C": "a"})


def test_the_description_of_a_space_alone(told, run):
    data, _ = told("summary", T1)
    assert (data["configurations"], data["combinations"], len(data["restrictions"])) == (4362, 10240, 4)
    assert "4,362 of 10,240 combinations are allowed" in run("summary", T1)[1]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream", [Terminal(), io.StringIO()])
def test_a_terminal_is_told_how_far_the_reading_is(stream, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    with ReadingLine("a\x1b[31m.json") as line:
        line(25_000_000, 100_000_000)
        line(26_000_000, 100_000_000)  # too soon after the other
    shown = r"\rReading a.\[31m\.json:  25% of 100 MB\x1b\[K\r\x1b\[K" if stream.isatty() else ""
    assert re.fullmatch(shown, stream.getvalue()), stream.getvalue()

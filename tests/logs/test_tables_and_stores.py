"""Helion, Inductor, Triton, Optuna, pyATF, OpenTuner, tinygrad: what is read is what a few independent lines count."""

import ast
import csv
import gzip
import io
import json
import math
import pickle
import re
import sqlite3
import struct
import zlib
from collections import Counter

import pytest
from logs.real_files import EXCERPTS, files

import workbench as wb
from workbench.logs import IMPORTERS


def text_of(path):
    return (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()


def database(path):
    made = sqlite3.connect(":memory:")
    made.deserialize(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes())
    made.row_factory = sqlite3.Row
    return made


def counted(log):
    return {status: count for status, count in log.records["status"].value_counts().items() if count}


@pytest.mark.parametrize("path", files("*utotune-v2.csv*"), ids=lambda p: p.name)
def test_helion(path):
    rows = list(csv.DictReader(io.StringIO(text_of(path))))
    ended = [row for row in rows if row["status"] != "started"]
    begun = {row["config_id"] for row in rows} - {row["config_id"] for row in ended}
    log = wb.logs.open(path)
    assert log.format == "helion"
    told = Counter(row["status"] for row in ended)
    assert counted(log) == {
        "ok": told["ok"], "run": told["error"], "build-timeout": told["timeout"], "started-only": len(begun),
    }  # fmt: skip
    assert len(log) == 80
    best = min((row for row in ended if row["perf_ms"]), key=lambda row: float(row["perf_ms"]))
    (task,) = log.tasks.to_dict("records")
    assert task["best"] == float(best["perf_ms"])
    config = ast.parse(best["config"], mode="eval").body
    params = {word.arg: ast.literal_eval(word.value) for word in config.keywords}
    assert log.records["params"][task["best_record"]] == params
    assert log.raw(task["best_record"])["config"] == best["config"]
    assert log.records["compile_s"].sum() == pytest.approx(sum(float(r["compile_time_s"] or 0) for r in ended))


OLD_HELION = """timestamp_s,config_index,generation,status,perf_ms,compile_time_s,config
0.1,0,0,started,,,"Config(num_warps=4, mode='a, b')"
0.5,0,0,ok,0.25,0.2,"Config(num_warps=4, mode='a, b')"
0.6,1,0,started,,,Config(num_warps=8)
0.1,0,0,started,,,Config(num_warps=16)
0.4,0,0,ok,0.125,0.2,Config(num_warps=16)
0.5,1,0,ok,0.5,0.2,Config(num_warps=__import__('os').getpid())
0.5,2,0,ok,0.5,0.2,"Config(num_warps
"""


def test_helion_formerly_and_twice(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text(OLD_HELION)
    (tmp_path / "run.meta.jsonl").write_text(
        '{"run_id": "", "kernel_name": "matmul", "input_shapes": "[(64, 64)]", "hardware": "H100"}\n'
    )
    log = wb.logs.open(path)
    assert log.records["run"].tolist() == ["run.csv run 1", "run.csv run 1", *["run.csv run 2"] * 2]
    assert log.records["status"].tolist() == ["ok", "started-only", "ok", "ok"]
    assert log.records["params"].tolist()[0] == {"num_warps": 4, "mode": "a, b"}
    assert log.records["params"].tolist()[3] == {"num_warps": "__import__('os').getpid()"}  # its text, nothing else
    assert set(log.records["task"]) == {"matmul[(64, 64)]"}
    assert set(log.records["device"]) == {"H100"}
    assert [fault.where for fault in log.faults] == ["line 8"]


def test_inductor():
    log = wb.logs.open(EXCERPTS / "inductor" / "max-autotune-h100-excerpt.log")
    text = (EXCERPTS / "inductor" / "max-autotune-h100-excerpt.log").read_text()
    rows = re.findall(r"^ +(\w+) ([\d.]+) ms [\d.]+% ?(.*)$", text, re.M)
    assert log.records["value"].tolist() == [float(ms) for _, ms, _ in rows]
    assert [extra["choice"] for extra in log.records["extra"]] == [name for name, _, _ in rows]
    assert log.tasks["task"].tolist() == ["mm(128x4096, 4096x12288) float16", "mm(128x4096, 4096x22016) float16"]
    assert log.tasks["best_s"].tolist() == [0.0485e-3, 0.0759e-3]
    assert log.records["params"][1]["BLOCK_K"] == 64
    assert log.records["params"][1]["EVEN_K"] is True
    assert [note.split(" of ")[0] for note in log.warnings] == ["20 choices"]
    assert len(log) == 20


def test_inductor_of_2023_printed_s_and_meant_ms():
    log = wb.logs.open(EXCERPTS / "inductor" / "max-autotune-2023-format.log")
    assert (len(log), log.tasks["best_s"][0], set(log.records["unit"])) == (10, 1.2882e-3, {"ms"})
    assert any("meant ms" in note for note in log.warnings)


TABLES = """\
[rank0]:I0101 12:00:00.000000 1 torch/_inductor/select_algorithm.py:3000] [0/0] AUTOTUNE mm(8x8, 8x8) [CACHE HIT]
strides: [8, 1], [1, 8]
dtypes: torch.float16, torch.float32
  triton_mm_0 0.5000 ms 100.0% BLOCK_K=16, TAG='a, b', FN=<script>, N=(1, 2)
  mm inf ms 0.0%
  triton_mm_1 0.0000 ms <DIVIDED BY ZERO ERROR> BLOCK_K=32
SubProcess AUTOTUNE benchmarking takes 1 seconds and 2.5 seconds precompiling and 1 seconds prescreening for 3 choices
Autotune Choices Stats:
{"num_choices": 12, "best_kernel": "mm", "best_time": 0.25}
AUTOTUNE mm(8x8, 8x8)
strides: [1, 8], [1, 8]
dtypes: torch.float16, torch.float32
  mm 0.7500 ms 100.0%
AUTOTUNE convolution(1x2x3x4, 5x6x7x8)
  convolution 1.0000 ms 100.0%
"""


def test_tables_that_were_pasted():
    log = wb.logs.parse(TABLES)
    assert log.format == "inductor"
    assert log.records["task"].tolist() == [
        *["mm(8x8, 8x8) float16, float32"] * 3,
        "mm(8x8, 8x8) float16, float32, strides [1, 8], [1, 8]",
        "convolution(1x2x3x4, 5x6x7x8)",
    ]
    assert log.records["status"].tolist() == ["ok", "unknown", "unknown", "ok", "ok"]
    assert log.records["extra"][0]["cached"]
    assert log.records["extra"][0]["precompiling_s"] == 2.5
    assert "<script>" in str(log.records["params"][0]), "kept as text; who shows it escapes it"
    assert sorted(note.split()[0] for note in log.warnings) == ["1", "1", "11"]  # a contradiction, no time, not shown


def test_inductor_results(tmp_path):
    path = tmp_path / "autotuning_result_json_list.txt"
    common = {
        "op_name": "mm", "cuda_device_name": "H100", "autotuning_time": 0.5, "precompile_time": 1.5,
        "input_nodes": [{"name": "a", "dtype": "torch.float16", "size": [8, 16]}, {"name": "b", "size": "[16, 4]"}],
    }  # fmt: skip
    made = [{"backend": "Triton", "num_warps": k, **common, "benchmark_result": 1 / k} for k in (1, 2, 4)]
    path.write_text("".join(json.dumps(line) + "\n" for line in [*made, {**common, "benchmark_result": math.inf}]))
    log = wb.logs.open(path)
    assert log.format == "inductor-json"
    assert log.records["task"].unique().tolist() == ["mm(8x16 float16, 16x4)"]
    assert (log.tasks["best_s"][0], log.tasks["failed"][0]) == (0.25e-3, 1)
    assert log.raw(2) == made[2]


def test_triton():
    log = wb.logs.open(EXCERPTS / "triton" / "matmul_kernel.autotune.json")
    given = json.loads((EXCERPTS / "triton" / "matmul_kernel.autotune.json").read_text())["configs_timings"]
    times = [timing[0] for _, timing in given]
    assert log.records["value"].dropna().tolist() == [time for time in times if math.isfinite(time)]
    assert (counted(log), log.tasks["best"][0]) == ({"ok": 4, "unknown": 1}, min(times))
    assert log.tasks["task"][0] == "matmul_kernel(4096, 4096, 4096, float16, float16, float16)"
    assert set(log.records["statistic"]) == {"median"}


def test_lines_of_triton():
    log = wb.logs.open(EXCERPTS / "triton" / "print-autotuning-excerpts.log")
    assert (log.format, len(log), counted(log)) == ("triton-text", 4, {"ok": 3, "started-only": 1})
    assert log.records["params"][1]["BLOCK_SIZE"] == 128
    assert [extra.get("tuning_s") for extra in log.records["extra"]] == [None, 9.09, 1.26, 4.15]
    fork = "config=BLOCK: 64, num_warps: 4; p50=0.5 ms, p20=0.4 ms, p80=0.6 ms [selected]\n"
    assert wb.logs.parse(fork).records["cost_s"].tolist() == [0.5e-3]


@pytest.mark.parametrize("path", files("optuna/matmul96.db*"), ids=str)
def test_optuna(path):
    base = database(path)
    trials = [dict(row) for row in base.execute("SELECT * FROM trials ORDER BY trial_id")]
    values = dict(base.execute("SELECT trial_id, value FROM trial_values").fetchall())
    log = wb.logs.open(path)
    assert (log.format, len(log), counted(log)) == ("optuna", 40, {"ok": 31, "pruned": 8, "unknown": 1})
    assert log.records["told"].tolist() == [trial["state"] for trial in trials]
    good = [values[t["trial_id"]] for t in trials if t["state"] == "COMPLETE"]
    assert log.records["value"].dropna().tolist() == good
    for name, value, text in base.execute(
        "SELECT param_name, param_value, distribution_json FROM trial_params LIMIT 4"
    ):
        choices = json.loads(text)["attributes"].get("choices")
        assert log.records["params"][0][name] == (choices[int(value)] if choices else value)
    assert log.params["tile_i"] == [8, 16, 32, 48, 96]
    assert log.params["tile_k"] == list(range(8, 97))


@pytest.mark.parametrize("path", files("optuna/matmul96.journal*"), ids=str)
def test_journal_of_optuna(path):
    lines = [json.loads(line) for line in text_of(path).splitlines()]
    ends = {line["trial_id"]: line for line in lines if line["op_code"] == 6 and line["state"] in (1, 2, 3)}
    log = wb.logs.open(path)
    assert len(log) == sum(line["op_code"] == 4 for line in lines) == 40
    assert counted(log) == {"ok": sum(e["state"] == 1 for e in ends.values()), "pruned": 5}
    assert log.tasks["best"][0] == min(e["values"][0] for e in ends.values() if e["state"] == 1)


def test_optuna_with_an_old_schema_and_several_studies():
    log = wb.logs.open(EXCERPTS / "optuna" / "rdb-2.4.0.a.db.gz")
    assert log.tasks["task"].tolist() == ["single", "multi", "schema migration"]
    assert log.records["value"].tolist() == pytest.approx([126.76090938256421, 2.506332838121244, 318.00030511662345])
    assert log.records["extra"][1]["values"] == pytest.approx([2.506332838121244, 112.28170429544488])
    assert log.records["params"][0]["z"] == -5
    assert len(log) == 3


def test_optuna_before_there_were_several_objectives(tmp_path):
    path = tmp_path / "old.db"
    with sqlite3.connect(path) as made:
        made.executescript("""
        CREATE TABLE studies (study_id INTEGER, study_name TEXT, direction TEXT);
        INSERT INTO studies VALUES (1, 'old', 'MAXIMIZE');
        CREATE TABLE trials (trial_id INTEGER, study_id INTEGER, state TEXT, value FLOAT);
        INSERT INTO trials VALUES (1, 1, 'COMPLETE', 2.5), (2, 1, 'FAIL', NULL);
        CREATE TABLE trial_values (trial_value_id INTEGER, trial_id INTEGER, step INTEGER, value FLOAT);
        INSERT INTO trial_values VALUES (1, 1, 7, 0.5);
        CREATE TABLE trial_params (trial_id INTEGER, param_name TEXT, param_value FLOAT, distribution_json TEXT);
        """)
    made.close()
    records = wb.logs.open(path).records
    assert records["value"].tolist()[0] == 2.5
    assert records["direction"].tolist() == ["max", "max"]
    assert records["extra"][0]["intermediate"] == [[7, 0.5]]


@pytest.mark.parametrize("path", files("matmul96-auc.json*"), ids=str)
def test_pyatf(path):
    given = json.loads(text_of(path))
    log = wb.logs.open(path, unit="ms")
    assert log.records["value"].tolist() == [step["cost"] for step in given["history"]]
    assert log.records["params"].tolist() == [step["configuration"] for step in given["history"]]
    assert (len(log), counted(log), log.tasks["best"][0]) == (60, {"ok": 60}, min(s["cost"] for s in given["history"]))
    assert log.params["TI"] == list(range(8, 97))
    assert log.params["ORDER"] == given["tuning_parameters"][3]["range"]["values"]
    assert log.records["elapsed_s"].is_monotonic_increasing
    assert log.space.restrictions is None
    assert "Constraints need what the log does not say: N (`constants={'N': …}`)." in log.warnings
    space = wb.logs.open(path, unit="ms", constants={"N": 96}).space
    assert [restriction.text for restriction in space.restrictions] == ["96 % TI == 0", "96 % TJ == 0", "96 % TK == 0"]
    assert len(space) == given["constrained_search_space_size"] == 1372
    assert space.combinations == given["unconstrained_search_space_size"]


def test_a_constraint_of_pyatf_that_cannot_be_read_is_told(tmp_path):
    log = json.loads(IMPORTERS["pyatf"].example)
    log["tuning_parameters"][0]["constraint"] = 'TI = TP("TI", Interval(1, 4), lambda TI: open("x"))'
    (tmp_path / "log.json").write_text(json.dumps(log))
    found = wb.logs.open(tmp_path / "log.json")
    assert (found.space.restrictions, len(found)) == (None, 2)
    assert any("The constraint of TI cannot be read" in warning for warning in found.warnings)


@pytest.mark.parametrize("path", files("opentuner/matmul96.db*"), ids=str)
def test_opentuner(path):
    base = database(path)
    results = [dict(row) for row in base.execute("SELECT * FROM result ORDER BY id")]
    pickles = dict(base.execute("SELECT id, data FROM configuration").fetchall())
    asked = dict(base.execute("SELECT result_id, requestor FROM desired_result").fetchall())
    log = wb.logs.open(path)
    assert (len(log), counted(log)) == (50, {"ok": 44, "run": 6})
    assert log.records["value"].dropna().tolist() == [r["time"] for r in results if r["state"] == "OK"]
    assert log.records["technique"].tolist() == [asked[r["id"]] for r in results]
    own = [pickle.loads(zlib.decompress(pickles[r["configuration_id"]])) for r in results]  # made for this project
    assert log.records["params"].tolist() == own


def test_tinygrad():
    path = EXCERPTS / "tinygrad" / "beam-matmul96-relu.log.gz"
    log = wb.logs.open(path)
    times = re.findall(r"compile/ *([\d.]+)us run", text_of(path))
    assert log.records["value"].tolist() == [float(time) for time in times]
    assert log.tasks["best"].tolist() == [2.89, 10.71, 29.67]
    assert [e["applied_opts"] for e in log.records["extra"] if "applied_opts" in e] == re.findall(
        r"applied_opts=(\[.*\])", text_of(path)
    )
    winners = wb.logs.open(EXCERPTS / "tinygrad" / "cache-beam_search-only.db.gz")
    assert winners.records["params"][0] == {"applied_opts": ["Opt(op=OptOps(2), axis=0, arg=0)"]}
    assert len(winners) == 3


def test_an_open_transaction_is_undone(tmp_path):
    live, dead = tmp_path / "live.db", tmp_path / "dead.db"
    IMPORTERS["optuna"].write_example(live)
    base = sqlite3.connect(live, isolation_level=None)
    base.execute("PRAGMA cache_size = 1")
    base.execute("BEGIN")
    base.execute("UPDATE trials SET state = 'FAIL'")
    filler = json.dumps(["x" * 3000])
    base.executemany("INSERT INTO trial_params VALUES (9, 9, 'x', 0, ?)", [(filler,)] * 50)  # spills to the file
    for name in ("", "-journal"):
        (tmp_path / f"dead.db{name}").write_bytes((tmp_path / f"live.db{name}").read_bytes())
    base.close()
    before = {path.name: path.read_bytes() for path in tmp_path.glob("dead*")}
    assert len(before) == 2
    assert wb.logs.open(dead).records["told"].tolist() == ["COMPLETE", "FAIL"]
    assert before == {path.name: path.read_bytes() for path in tmp_path.glob("dead*")}


def test_a_journal_removes_no_other_file(tmp_path):
    """SQLite removes the journal of several files that the journal of one names, whatever file that is."""
    path, other = tmp_path / "log.db", tmp_path / "other.txt"
    IMPORTERS["optuna"].write_example(path)
    other.write_text("kept")
    data = path.read_bytes()
    size = int.from_bytes(data[16:18], "big")
    name, magic = bytes(other), bytes.fromhex("d9d505f920a163d7")
    header = magic + struct.pack(">IIIII", 1, 0, len(data) // size, 512, size)
    page = struct.pack(">I", 1) + data[:size] + struct.pack(">I", sum(data[size - 200 : 0 : -200]))
    last = struct.pack(">I", (1 << 30) // size + 1) + name + struct.pack(">II", len(name), sum(name)) + magic
    (tmp_path / "log.db-journal").write_bytes(header.ljust(512, b"\0") + page + last)
    assert len(wb.logs.open(path)) == 2
    assert other.read_text() == "kept"

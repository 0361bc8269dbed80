"""Tables of one's own: what their columns are is said once; nothing is guessed."""

import builtins
import json

import pytest
from tuner_files import HERE

import workbench as wb
from workbench.errors import LogError

CSV = "tile,unroll,ms,state,note\n8,True,0.25,pass,a\n16,False,,crash,b\n32,True,1e9,pass,c\n64,True,n/a,pass,d\n"
MAPPING = {"columns": {"cost": "ms", "params": ["tile", "unroll"], "status": "state"}, "unit": "ms",
           "statuses": {"pass": "ok", "crash": "run"}}  # fmt: skip


@pytest.fixture(autouse=True)
def memory(tmp_path, monkeypatch):
    monkeypatch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path / "memory"))


@pytest.fixture
def path(tmp_path):
    found = tmp_path / "mine.csv"
    found.write_text(CSV)
    return found


def test_columns_are_asked_for_once(path):
    with pytest.raises(LogError) as caught:
        wb.logs.open(path)
    assert caught.value.code == "log.columns"
    assert "tile, unroll, ms, state, note" in caught.value.message
    assert "columns={" in caught.value.hint
    said = wb.logs.open(path, **MAPPING)
    remembered = wb.logs.open(path)
    for log in (said, remembered):
        assert log.records["status"].tolist() == ["ok", "run", "unknown", "unknown"]
        assert log.records["told"].tolist() == ["pass", "crash", "pass", "pass"]
        assert log.records["params"][0] == {"tile": 8, "unroll": True}
        assert log.records["extra"][0] == {"note": "a"}
        assert log.tasks["best_s"][0] == 0.25e-3
    assert len(remembered.warnings) == len(said.warnings) + 1
    assert "taken as they were named" in " ".join(remembered.warnings)


def test_another_header_is_another_table(path):
    wb.logs.open(path, **MAPPING)
    path.write_text(CSV.replace("note", "remark"))
    with pytest.raises(LogError):
        wb.logs.open(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"columns": {"params": ["tile"]}}, "cost"),
        ({"columns": {"cost": "Ms"}}, "no column 'Ms'"),
        ({"columns": {"cost": "ms", "params": ["tle"]}}, "no column 'tle'"),
        ({"columns": {"cost": "ms", "colour": "note"}}, "'colour'"),
        ({"columns": {"cost": "ms", "params": 7}}, "lists"),
        ({"unit": None}, "unit"),
        ({"statuses": {"pass": "good"}}, "statuses"),
    ],
)
def test_what_does_not_fit_is_told(path, change, words):
    with pytest.raises(LogError, match=words) as caught:
        wb.logs.open(path, **{**MAPPING, **change})
    assert caught.value.code == "log.columns"
    assert caught.value.hint


def test_words_of_the_status_are_not_guessed(path):
    log = wb.logs.open(path, columns=MAPPING["columns"], unit="ms")
    assert not (log.records["status"] == "ok").any()
    assert any("'pass' (3), 'crash' (1)" in note for note in log.warnings)


def test_json_lines_with_an_object_of_parameters(tmp_path):
    path = tmp_path / "trials.jsonl"
    rows = [{"config": {"tile": 2**k, "order": "ij"}, "gflops": 10.0 * k, "runs": 3} for k in range(4)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"config": {"tile"')
    log = wb.logs.open(path, columns={"cost": "gflops", "params": "config"}, unit="GFLOP/s", direction="max")
    assert log.records["params"].tolist()[3] == {"config.tile": 8, "config.order": "ij"}
    assert (log.tasks["best"][0], log.tasks["direction"][0]) == (30.0, "max")
    assert log.raw(1) == {"config.tile": 2, "config.order": "ij", "gflops": 10.0, "runs": 3}
    assert [str(fault) for fault in log.faults] == ["line 5: the line is cut off"]


def test_cells_with_line_ends_quotes_and_too_many_columns():
    text = 'a;ms\n1;0.5\n"x\ny";0.25\n1;2;3\n2;"0.125"\n'
    log = wb.logs.parse(text, columns={"cost": "ms", "params": ["a"]}, unit="ms")
    assert log.records["params"].tolist() == [{"a": 1}, {"a": "x\ny"}, {"a": 2}]
    assert [fault.where for fault in log.faults] == ["line 5"]


def test_parquet(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "mine.parquet"
    parquet.write_table(pyarrow.table({"tile": [8, 16], "ms": [0.5, float("nan")]}), path)
    mapping = {"columns": {"cost": "ms", "params": ["tile"]}, "unit": "ms"}
    assert wb.logs.open(path, **mapping).records["status"].tolist() == ["ok", "unknown"]
    path.write_bytes(path.read_bytes()[:-9])
    assert wb.logs.open(path, **mapping).faults


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    path = tmp_path / "mine.parquet"
    path.write_bytes(b"PAR1....PAR1")
    given = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return given(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(LogError) as caught:
        wb.logs.open(path)
    assert caught.value.code == "log.pyarrow"


def test_what_the_log_does_not_say_is_said(path):
    log = wb.logs.open(path, **MAPPING, task="convolution", device="A100")
    assert log.tasks[["task", "device"]].values.tolist() == [["convolution", "A100"]]


def test_an_objective_that_no_record_has(tmp_path):
    path = tmp_path / "cache.json"
    path.write_bytes((HERE / "kernel-tuner" / "vector_add-time-energy-RTX4000Ada.json").read_bytes())
    (note,) = [w for w in wb.logs.open(path, objective="enrgy").warnings if "No record" in w]
    assert "'enrgy'" in note
    assert "energy" in note.split("they have")[1]
    assert not any("No record" in w for w in wb.logs.open(path, objective="energy").warnings)

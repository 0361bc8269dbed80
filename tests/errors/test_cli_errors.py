"""Every bad input of the command line: the code, the exit code, the JSON form, and what must not have happened."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from workbench.cli import main
from workbench.log import Header, LogWriter, Record


def invoke(capfd, *arguments):
    """Return (exit code, standard output, standard error)."""
    code = main([str(a) for a in arguments])
    out, err = capfd.readouterr()
    return code, out, err


def check_error(capfd, arguments, code, exit_code):
    """The same error in both forms: one JSON object, or one sentence with hint on standard error only."""
    got, out, err = invoke(capfd, *arguments, "--json")
    assert (got, out.count("\n")) == (exit_code, 1), err
    error = json.loads(out)["error"]
    assert set(error) == {"code", "message", "where", "hint"}
    assert error["code"] == code
    assert error["message"]
    assert "Traceback" not in err
    got, out, err = invoke(capfd, *arguments)
    assert (got, out) == (exit_code, "")
    assert error["message"] in err
    assert f"[{code}]" in err
    assert "Traceback" not in err
    return error


USAGE = [
    ([], "usage.arguments"),
    (["tun", "m.onnx"], "usage.command"),
    (["tune", "m.onnx", "--log", "x.jsonl"], "usage.budget"),
    (["tune", "m.onnx", "--trials", "5"], "usage.arguments"),
    (["tune", "m.onnx", "--trials", "0", "--log", "x.jsonl"], "usage.arguments"),
    (["tune", "m.onnx", "--trials", "many", "--log", "x.jsonl"], "usage.arguments"),
    (["tune", "m.onnx", "--seconds", "-1", "--log", "x.jsonl"], "usage.arguments"),
    (["tune", "m.onnx", "--seconds", "nan", "--log", "x.jsonl"], "usage.arguments"),
    (["tune", "m.onnx", "--trails", "5", "--log", "x.jsonl"], "usage.option"),
    (["tune", "m.onnx", "--trials", "5", "--log", "x.jsonl", "--scheduler", "greedy"], "usage.scheduler"),
    (["tune", "m.onnx", "--trials", "5", "--log", "x.jsonl", "--cost-model", "oracle"], "usage.cost_model"),
    (["run"], "usage.arguments"),
    (["run", "m.onnx", "--without", "foldd"], "usage.pass"),
    (["run", "m.onnx", "--threads", "0"], "usage.arguments"),
    (["run", "m.onnx", "--shape", "data"], "usage.shape"),
    (["run", "m.onnx", "--shape", "data=1x-3"], "usage.shape"),
    (["run", "m.onnx", "--shape", "data=1x0"], "usage.shape"),
    (["run", "m.onnx", "--shape", "data=1", "--shape", "data=2"], "usage.shape"),
    (["run", "m.onnx", "--save-filled", "y.onnx"], "usage.save_filled"),
    (["log"], "usage.arguments"),
    (["log", "sumary", "x"], "usage.arguments"),
    (["log", "best", "x", "-k", "0"], "usage.arguments"),
    (["tasks", "m.onnx", "--shpae", "a=1"], "usage.option"),
]


@pytest.mark.parametrize(("arguments", "code"), USAGE, ids=lambda v: " ".join(v) if isinstance(v, list) else v)
def test_usage_errors(capfd, tmp_path, monkeypatch, arguments, code):
    monkeypatch.chdir(tmp_path)
    check_error(capfd, arguments, code, 2)
    assert list(tmp_path.iterdir()) == []


def test_misspelt_words_get_a_proposal(capfd):
    assert "'tune'" in check_error(capfd, ["tnue"], "usage.command", 2)["hint"]
    assert "'--trials'" in check_error(capfd, ["tune", "m", "--log", "x", "--trails", "3"], "usage.option", 2)["hint"]


HEADER = Header(tasks=(("k0", "conv 3x3"), ("k1", "dense")), target="llvm", model="other.onnx")


def write(path, count=3):
    with LogWriter(path, HEADER) as writer:
        for i in range(count):
            status = "run_error" if i == 1 else "ok"
            writer.append(
                Record(
                    task_key="k0", task="conv 3x3", trial=i, status=status, target="llvm", weight=2, key=f"c{i}",
                    flops=10**6, latency_ms=None if i == 1 else 3.0 - i, row={"i": i}, origin="mutation", elapsed_s=i,
                )
            )  # fmt: skip
    return path


def test_logs_that_cannot_be_used(capfd, tmp_path):
    check_error(capfd, ["log", "summary", tmp_path / "none.jsonl"], "log.missing", 3)
    check_error(capfd, ["log", "distill", tmp_path], "log.unreadable", 3)
    check_error(capfd, ["log", "best", tmp_path], "log.unknown_format", 3)  # other tuners' logs may be folders
    check_error(capfd, ["run", "m.onnx", "--log", tmp_path / "none.jsonl"], "log.missing", 3)
    bad = tmp_path / "bad.jsonl"
    bad.write_text(write(tmp_path / "a.jsonl").read_text() + "garbage\n")
    error = check_error(capfd, ["log", "distill", bad], "log.corrupt", 3)
    assert error["where"] == [f"{bad}:{len(bad.read_text().splitlines())}"]


def test_a_log_that_cannot_be_written_is_reported_before_the_model_is_even_loaded(capfd, tmp_path):
    tune = ["tune", tmp_path / "none.onnx", "--trials", "5", "--log"]
    check_error(capfd, [*tune, tmp_path / "no" / "such" / "folder.jsonl"], "log.unwritable", 3)
    check_error(capfd, [*tune, tmp_path], "log.unwritable", 3)
    check_error(capfd, [*tune, write(tmp_path / "a.jsonl")], "log.exists", 3)
    with LogWriter(tmp_path / "b.jsonl", HEADER):
        check_error(capfd, [*tune, tmp_path / "b.jsonl", "--resume"], "log.locked", 3)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(capfd, tmp_path):
    tmp_path.chmod(0o555)
    check_error(capfd, ["tune", "m.onnx", "--trials", "5", "--log", tmp_path / "a.jsonl"], "log.unwritable", 3)


def test_log_summary_best_and_distill(capfd, tmp_path):
    log = write(tmp_path / "a.jsonl")
    code, out, err = invoke(capfd, "log", "summary", log, "--json")
    data = json.loads(out)
    assert (code, err) == (0, "")
    assert data["trials"] == 3
    assert data["tasks"][0]["failed"] == {"run_error": 1}
    assert data["tasks"][0]["latency_ms"] == 1.0
    assert data["tasks"][1]["latency_ms"] is None
    assert data["total_latency_ms"] is None
    code, out, _ = invoke(capfd, "log", "summary", log)
    assert code == 0
    assert "conv 3x3" in out
    code, out, _ = invoke(capfd, "log", "best", log, "-k", "5", "--json")
    assert [r["trial"] for r in json.loads(out)["records"]] == [2, 0]
    code, out, _ = invoke(capfd, "log", "distill", log, "--json")
    assert json.loads(out)["trials"] == 1
    check_error(capfd, ["log", "distill", log], "log.exists", 3)
    check_error(capfd, ["log", "distill", log, "-o", log], "log.unwritable", 3)
    code, out, _ = invoke(capfd, "log", "best", tmp_path / "a.best.jsonl", "--json")
    assert [r["trial"] for r in json.loads(out)["records"]] == [2]


def test_a_torn_log_is_readable_with_a_warning(capfd, tmp_path):
    log = write(tmp_path / "a.jsonl")
    log.write_bytes(log.read_bytes() + b'{"kind":"trial","ta')
    code, out, err = invoke(capfd, "log", "summary", log, "--json")
    assert code == 0
    assert json.loads(out)["trials"] == 3
    assert "warning" in err


def process(*arguments, **kwargs):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.Popen(
        [sys.executable, "-m", "workbench", *map(str, arguments)], text=True, env=environment, **kwargs
    )


def test_as_a_process(tmp_path):
    pipe = subprocess.PIPE
    with process("log", "summary", tmp_path / "none", "--json", stdout=pipe, stderr=pipe) as child:
        out, err = child.communicate(timeout=60)
    assert child.returncode == 3
    assert json.loads(out)["error"]["code"] == "log.missing"
    assert "[log.missing]" in err
    with process("--version", stdout=pipe, stderr=pipe) as child:
        out, _ = child.communicate(timeout=60)
    assert (child.returncode, out.split()[0]) == (0, "workbench")


@pytest.mark.skipif(os.name != "posix", reason="pipes differ")
def test_a_reader_that_leaves_is_no_error(tmp_path):
    log = write(tmp_path / "a.jsonl")
    read, written = os.pipe()
    os.close(read)
    with process("log", "summary", log, stdout=written, stderr=subprocess.PIPE) as child:
        os.close(written)
        _, err = child.communicate(timeout=60)
    assert child.returncode == 0
    assert err == ""


@pytest.mark.parametrize("odd", ["i\0", "x" * 100_000, "\ud800"], ids=["zero", "long", "half a character"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["tasks", "ODD"], ["run", "MODEL", "--outputs", "ODD"], ["run", "MODEL", "--trace", "ODD"],
        ["run", "MODEL", "--fill-weights", "1", "--save-filled", "ODD"], ["lab", "ODD", "--no-browser"],
        ["log", "summary", "ODD"], ["export", "MODEL", "-o", "ODD"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_paths_that_name_no_file(capfd, tmp_path, odd, arguments):
    from errors import models

    model = models.dense(tmp_path / "m.onnx")
    words = [{"ODD": odd, "MODEL": model}.get(word, word) for word in arguments]
    code, _, err = invoke(capfd, *words)
    assert code in (2, 3, 4)
    assert "[internal]" not in err
    assert "Traceback" not in err

"""Large logs of ours, read in parts: what trials share may stand in any part before them, in any form of JSON."""

import json
import random

import pytest
from benchmarks.big_own_logs import own

import workbench as wb
from workbench.errors import LogError
from workbench.log import Comparison, Header, Record, load_log
from workbench.log.ledger import Ledger
from workbench.log.reader import write_log
from workbench.logs import tuning_log
from workbench.logs.explorer.explorer import Explorer
from workbench.logs.explorer.slices import chosen
from workbench.logs.importers.workbench import WorkbenchLog
from workbench.logs.source import LogSource
from workbench.logs.table import kept, parts
from workbench.logs.table.part import PartReader


@pytest.fixture
def lines(tmp_path):
    own(tmp_path / "own", 90, failed=0.2)
    return (tmp_path / "own").read_text().splitlines()


def in_parts(path, ends):
    """Read a file in parts that end there, each by a reader of its own."""
    starts = [0, *ends]
    found = [PartReader(LogSource(path), WorkbenchLog()).read(a, b) for a, b in zip(starts, [*ends, None], strict=True)]
    return parts.together(found)


def reformatted(line):
    """Return a line with spaces, and its fields the other way round."""
    return "  " + json.dumps(dict(reversed(json.loads(line).items())), separators=(" , ", " : "))


@pytest.mark.parametrize("form", [str, reformatted])
def test_where_a_part_begins_changes_nothing(lines, form, tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "enabled", lambda: False)
    path = tmp_path / "log"
    path.write_text("\n".join(map(form, lines)) + "\n")
    records = load_log(path).records
    data = path.read_bytes()
    ends = [k + 1 for k, byte in enumerate(data) if byte == 10][:-1]
    for seed in range(6):
        found = in_parts(path, sorted(random.Random(seed).sample(ends, 3)))
        assert not found.faults
        assert len(found.columns) == len(records) == 90
        assert found.columns.text("task").tolist() == [r.task for r in records]
        assert found.columns.repeats.tolist() == [ms for r in records for ms in r.costs_ms]
    monkeypatch.setattr(parts, "LARGE", 0)
    log = wb.logs.open(path)
    assert [dict(params) for params in log.records["params"]] == [dict(r.row) for r in records]


def test_what_stands_behind_a_trial_does_not_hold_for_it(lines, tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "enabled", lambda: False)
    row = next(k for k, line in enumerate(lines) if k > 12 and line[:5] == '{"of"' and lines[k - 1][:5] == '{"id"')
    assert json.loads(lines[row - 1])["id"] in json.loads(lines[row])["of"]
    lines[row - 1], lines[row] = lines[row], lines[row - 1]
    path = tmp_path / "log"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(LogError, match="is not there") as caught:
        load_log(path)
    assert caught.value.where == (f"{path}:{row}",)
    data, told = path.read_bytes(), []
    for end in [k + 1 for k, byte in enumerate(data) if byte == 10][:-1]:
        told.append(in_parts(path, [end]).faults)
    assert all(faults == told[0] for faults in told)
    assert told[0][0][0] == row


def test_halves_of_characters_are_the_same_in_every_part(lines, tmp_path):
    path = tmp_path / "log"
    path.write_text("\n".join(lines).replace('"task":"', '"task":"\\ud800') + "\n")
    names = in_parts(path, [path.read_text().rindex("\n", 0, -1) + 1]).columns.words["task"][1]
    assert names == in_parts(path, []).columns.words["task"][1]


def lucky_first(tmp_path):
    """A log whose trial 1 took 0.97 ms once, and 1.10 when it met trial 0; trial 2 is another task's, disturbed."""
    task = {"task_key": "a", "task": "a", "target": "llvm", "host": "vm", "status": "ok"}
    trials = [
        Record(**task, trial=k, key=f"k{k}", row={"j": k}, latency_ms=ms, costs_ms=(ms,), timestamp=1e9 + k)
        for k, ms in enumerate((1.0, 0.97, 1.02))
    ]
    more = Record(
        task_key="b", task="b", target="llvm", host="vm", status="ok", trial=3, key="k3",
        latency_ms=0.248, costs_ms=(0.248,), timestamp=1e9 + 3,
        clean=False, why_not="the thread had 62 % of a core", at_least_ms=0.137,
    )  # fmt: skip
    met = Comparison(task_key="a", task="a", trials=(0, 1), latency_ms=(1.02, 1.10), winner=0, timestamp=1e9 + 4)
    path = tmp_path / "lucky.tunelog.jsonl"
    write_log(path, Header(tasks=(("a", "a"), ("b", "b")), target="llvm"), [*trials, more, met])
    return path


def test_tasks_and_explorer_tell_the_best_that_the_ledger_tells(tmp_path, monkeypatch):
    path = lucky_first(tmp_path)
    log = wb.logs.open(path)
    told = Ledger.of(load_log(path).lines, "llvm").task("a").best
    assert (told.record.trial, told.ms) == (0, 1.02)
    row = log.tasks.set_index("task").loc["a"]
    assert (row["best_record"], row["best"], row["best_s"]) == (0, 1.02, 1.02e-3)
    assert log.best(1, "a")["record"].tolist() == [0]
    assert log.held.tolist()[:3] == [1.02, 1.1, 1.02]
    assert log.records["value"].tolist()[:3] == [1.0, 0.97, 1.02], "what was written stays"
    explorer = Explorer(log)
    assert explorer.scope.columns["cost"].values[:3].tolist() == pytest.approx([1.02, 1.1, 1.02])
    monkeypatch.setattr(tuning_log, "RANKED", 3)
    assert wb.logs.open(path).held.tolist()[:3] == [1.0, 0.97, 1.02], "a long log is taken as it is"


def test_how_many_records_were_disturbed_is_told(tmp_path):
    (said,) = [one for one in wb.logs.open(lucky_first(tmp_path)).warnings if "disturbed" in one]
    assert said.startswith("1 of 4 records has no value")


def test_a_disturbed_time_is_a_bound_and_no_best(tmp_path):
    first = {"kind": "trial", "task_key": "3f2a", "task": "dense", "target": "llvm", "status": "ok", "row": {"j": 2}}
    busy = {"clean": False, "why_not": "the thread had 27 % of a core", "at_least_ms": 8.56}
    told = [
        {"trial": 0, "latency_ms": 9.5, "costs_ms": [9.5]},
        {"trial": 1, "latency_ms": 9.1, "costs_ms": [9.1], **busy},
    ]
    path = tmp_path / "log"
    path.write_text("".join(json.dumps({**first, **line, "key": f"k{line['trial']}"}) + "\n" for line in told))
    log = wb.logs.open(path)
    assert log.records["value"].isna().tolist() == [False, True]
    assert log.records["told"].tolist() == ["ok", "≥\u202f8.56 ms: the thread had 27 % of a core"]
    best = chosen(Explorer(log))["best"]
    assert (best["record"], float(best["cost"])) == (0, 9.5)

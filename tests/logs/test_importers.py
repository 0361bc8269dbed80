"""Every importer: its logs are told by their contents and read in shared words; damage is counted, never fatal."""

import json
from pathlib import Path

import pytest

import workbench as wb
from workbench.errors import LogError
from workbench.log import load_log
from workbench.logs import IMPORTERS, SECONDS, STATUSES, LogSource
from workbench.logs.conversion import OWN_STATUS
from workbench.logs.importer import importer_of
from workbench.registry import summary

PAGE = Path(__file__).parents[2] / "docs" / "tuning-logs.md"


@pytest.fixture(params=sorted(IMPORTERS))
def importer(request):
    return IMPORTERS[request.param]()


@pytest.fixture
def log(importer, tmp_path):
    path = tmp_path / "log"
    importer.write_example(path)
    return path


def test_its_logs_are_told_from_all_others(importer, log):
    assert type(importer_of(LogSource(log))) is type(importer)
    assert importer.tuner
    assert summary(type(importer)).endswith(".")


def test_every_status_has_one_of_our_own():
    assert set(OWN_STATUS) == set(STATUSES)


def test_a_table_in_shared_words(importer, log):
    found = wb.logs.open(log, **importer.example_hints)
    records = found.records
    assert found.format == importer.name
    assert not found.faults
    assert len(records) > 1
    assert (records["status"] == "ok").any()
    assert (records["status"] != "ok").any() == importer.tells_failures, "the example shows a failure"
    assert set(records["status"]) <= set(STATUSES)
    timed = (records["status"] == "ok") & records["unit"].isin(list(SECONDS))
    assert (records["cost_s"].notna() == timed).all()
    json.dumps(records["params"].tolist())
    json.dumps([found.raw(record) for record in records["record"]])


def test_damage_is_counted(importer, log):
    whole = wb.logs.open(log, **importer.example_hints)
    for file in [log] if log.is_file() else sorted(log.iterdir()):
        file.write_bytes(file.read_bytes()[:-9])
    try:
        torn = wb.logs.open(log, **importer.example_hints)
    except LogError:
        return
    assert len(torn) <= len(whole)


def test_another_tuners_log_is_not_tuned_into(importer, log):
    if importer.name == "workbench":
        return
    with pytest.raises(LogError):
        load_log(log)


def test_the_page_about_logs_has_its_line(importer):
    line = f"| `{importer.name}` | {importer.tuner} | {summary(type(importer))} |"
    assert line in PAGE.read_text(encoding="utf-8")

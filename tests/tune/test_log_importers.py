"""Logs of other tuners: each is told by its contents, read in its own words, and damage is an error with its line."""

import json

import pytest

import workbench as wb
from workbench.errors import LogError
from workbench.log import load_log
from workbench.log.importer import IMPORTERS, SECONDS, LogImporter, importer_of
from workbench.registry import summary


@pytest.fixture(params=sorted(IMPORTERS))
def importer(request):
    return IMPORTERS[request.param]()


def test_its_logs_are_told_from_all_others(importer):
    found = importer_of(importer.example.encode())
    assert type(found) is type(importer)
    assert importer.tuner
    assert summary(type(importer)).endswith(".")
    assert importer_of(b'{"kind":"header","tasks":[]}\n') is None


def test_a_table_in_the_tuners_words(importer, tmp_path):
    log = tmp_path / "log"
    log.write_text(importer.example)
    frame = wb.read_log(log)
    assert len(frame) > 1
    assert frame["valid"].any()
    assert not frame["valid"].all(), "the example shows a failure"
    assert (frame["status"] != "").all()
    timed = frame["valid"] & frame["unit"].isin(list(SECONDS))
    assert (frame["cost_s"].notna() == timed).all()
    assert frame.loc[~frame["valid"], "cost_s"].isna().all()
    json.dumps(frame["params"].tolist())
    with pytest.raises(LogError) as caught:
        load_log(log)
    assert caught.value.code == "log.foreign"


def test_damage_is_told_and_a_torn_last_line_is_not(importer):
    lines = importer.example.encode().splitlines(keepends=True)
    whole = list(importer.read(lines))
    torn = list(importer.read([*lines[:-1], lines[-1][:-9]]))
    assert torn == whole[: len(torn)]
    assert len(torn) >= len(whole) - 1
    for odd in (b"[]\n", b"{}\n", b"null\n", b'{"i": 3}\n', b'{"input": [[]], "config": 1}\n', b"[" * 100_000 + b"\n"):
        with pytest.raises(LogError) as caught:
            list(importer.read([*lines, odd]))
        assert caught.value.code == "log.corrupt"
        if type(importer).read is LogImporter.read:
            assert str(len(lines) + 1) in caught.value.message


def test_values_of_the_tvm_logs():
    auto = next(IMPORTERS["autotvm"]().read(IMPORTERS["autotvm"].example.encode().splitlines(keepends=True)))
    assert auto.params == {"tile_y": [-1, 1, 1], "unroll": 16}
    assert (auto.cost_s, auto.repeats) == (3.1e-05, (3e-05, 3.2e-05))
    good, bad = IMPORTERS["auto-scheduler"]().read(IMPORTERS["auto-scheduler"].example.encode().splitlines(True))
    assert good.params["0.SP"] == [2, 0, 64, [4, 8], 1]
    assert (bad.status, bad.value, bad.cost_s) == ("compile error on the host", None, None)

"""The logs that come with the notebooks: found, and as their README says."""

import pytest

import workbench as wb
from workbench.errors import InputError
from workbench.labs import sample_log

COUNTS = [
    ("convolution-A100.json.gz", 4362, 4201),
    ("convolution-A4000.json.gz", 4362, 4201),
    ("bert-excerpt.log.gz", 1296, 1151),
    ("polygons-RTX3090.json.gz", 4092, 3774),
    ("coulomb-RTX2080Ti.json.gz", 210, 210),
]


@pytest.mark.parametrize(("name", "records", "ok"), COUNTS)
def test_counts(name, records, ok):
    log = wb.logs.open(sample_log(name))
    assert (len(log), int((log.records["status"] == "ok").sum())) == (records, ok)
    assert not log.faults


def test_a_name_that_is_not_there():
    with pytest.raises(InputError) as caught:
        sample_log("../README.md")
    assert caught.value.code == "lab.no_sample"
    assert "bert-excerpt.log.gz" in caught.value.hint

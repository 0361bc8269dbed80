"""In how many processes pytest runs these tests, by what it is asked for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from workbench.host import usable_threads

DEFAULT = "not slow and not bench and not real_models"
Source = pytest.Config.ArgsSource


def asked(source=Source.TESTPATHS, **options):
    option = {"keyword": "", "markexpr": DEFAULT, "capture": "fd", "trace": False, "numprocesses": "auto", **options}
    return SimpleNamespace(args_source=source, option=SimpleNamespace(**option))


def test_all_default_tests_take_two_where_there_are_two_cores(pytestconfig):
    found = pytestconfig.hook.pytest_xdist_auto_num_workers(config=asked())
    assert found == (2 if usable_threads() > 1 else 0)


@pytest.mark.parametrize(
    "config",
    [
        asked(Source.ARGS),
        asked(keyword="tails"),
        asked(markexpr="slow"),
        asked(markexpr="bench"),
        asked(markexpr=""),
        asked(capture="no"),
        asked(trace=True),
    ],
)
def test_everything_else_stays_in_one(pytestconfig, config):
    assert pytestconfig.hook.pytest_xdist_auto_num_workers(config=config) == 0

"""In how many processes pytest runs these tests, by what it is asked for."""

from __future__ import annotations

import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from workbench.host import usable_threads

HERE = Path(__file__).parent
DEFAULT = "not checks and not slow and not bench and not real_models"
Source = pytest.Config.ArgsSource
#: What pytest itself says where nothing was asked for, and pytest-xdist beside it.
PLAIN = {"keyword": "", "markexpr": DEFAULT, "capture": "fd", "usepdb": False, "trace": False, "collectonly": False}
XDIST = {"numprocesses": None, "dist": "no", "tx": [], "loadscopereorder": True, "maxworkerrestart": None}
USUAL = ("loadfile", False, "1")


@pytest.fixture
def decided(pytestconfig):
    """What the options say once the tests' own hook has seen them."""
    hook = pytestconfig.pluginmanager.get_plugin(str(HERE / "conftest.py")).pytest_cmdline_main

    def decide(source=Source.TESTPATHS, **options):
        config = SimpleNamespace(args_source=source, option=SimpleNamespace(**PLAIN, **XDIST))
        vars(config.option).update(options)
        hook(config)
        option = config.option
        return option.numprocesses, (option.dist, option.loadscopereorder, option.maxworkerrestart)

    decide.hook = hook
    return decide


@pytest.mark.parametrize(("tier", "processes"), [(DEFAULT, 3), ("quick", 2), ("checks", 2)])
def test_a_whole_tier_takes_several_where_there_are_two_cores(decided, tier, processes):
    assert decided(markexpr=tier) == ((processes, USUAL) if usable_threads() > 1 else (None, ("no", True, None)))


@pytest.mark.parametrize(
    ("source", "options"),
    [
        (Source.ARGS, {}),
        (Source.INVOCATION_DIR, {}),
        (Source.TESTPATHS, {"keyword": "tails"}),
        (Source.TESTPATHS, {"markexpr": "slow"}),
        (Source.TESTPATHS, {"markexpr": "bench"}),
        (Source.TESTPATHS, {"markexpr": ""}),
        (Source.TESTPATHS, {"capture": "no"}),
        (Source.TESTPATHS, {"usepdb": True}),
        (Source.TESTPATHS, {"trace": True}),
        (Source.TESTPATHS, {"collectonly": True}),
    ],
)
def test_everything_else_stays_in_one(decided, source, options):
    assert decided(source, **options) == (None, ("no", True, None))


def test_what_somebody_asks_for_holds(decided):
    assert decided(numprocesses=0) == (0, ("no", True, None))
    assert decided(Source.ARGS, numprocesses=3) == (3, USUAL), "the tests of a file stay together there, too"
    assert decided(numprocesses="auto", maxworkerrestart="0") == ("auto", ("loadfile", False, "0"))
    assert decided(numprocesses=2, dist="load") == (2, ("load", True, None))
    assert decided(tx=["3*popen"], dist="each") == (None, ("each", True, None))


def test_a_worker_and_a_pytest_without_xdist_are_left_alone(decided):
    worker = SimpleNamespace(args_source=Source.TESTPATHS, workerinput={}, option=SimpleNamespace(**PLAIN, **XDIST))
    decided.hook(worker)
    assert worker.option.numprocesses is None
    alone = SimpleNamespace(args_source=Source.TESTPATHS, option=SimpleNamespace(**PLAIN))
    decided.hook(alone)
    assert vars(alone.option) == PLAIN


def test_every_option_that_always_holds_is_one_of_pytest_itself():
    """Else no test runs without the plug-in, and those of another folder are handed to processes."""
    settings = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    given = {o.split("=")[0] for o in settings["tool"]["pytest"]["ini_options"]["addopts"] if o.startswith("-")}
    assert given == {"-ra", "--strict-markers", "--strict-config", "--import-mode", "-m"}

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tiers
from hypothesis import HealthCheck, settings
from leftovers import pytest_configure, pytest_sessionfinish
from tiers import pytest_ignore_collect, pytest_itemcollected

from workbench.exercise_mode import keep_off

__all__ = ["pytest_configure", "pytest_ignore_collect", "pytest_itemcollected", "pytest_sessionfinish"]  # hooks

settings.register_profile(
    "default", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("deep", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

LAB = "tests/browser/"
FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at its options
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Say how tests are handed to processes, where nobody has said so and pytest-xdist is there to do it.

    The tests of a file stay together, in their order, and one that takes its process with it is tried once more, not
    eight times.
    """
    option = config.option
    if not hasattr(option, "numprocesses") or hasattr(config, "workerinput"):  # a worker gets its options from outside
        return
    if option.numprocesses is None and option.dist == "no" and not option.tx:
        option.numprocesses = _processes(config)
    if option.numprocesses and option.dist == "no":
        option.dist, option.loadscopereorder = "loadfile", False
        option.maxworkerrestart = option.maxworkerrestart or "1"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give one process all tests in a real JupyterLab: they share it, and two at once only wait for each other."""
    if config.option.dist != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFile(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return LAB if nodeid.startswith(LAB) else super()._split_scope(nodeid)

    return ByFile(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest, so that no process waits for it at the end."""
    items.sort(key=lambda item: not item.nodeid.startswith(LAB))


def pytest_collection_finish() -> None:
    """Take modules and items out of the garbage collector's sight: many tests collect, and there are 12,000 items."""
    gc.collect()
    gc.freeze()


def _processes(config: pytest.Config) -> int | None:
    """Two processes for a run of a whole tier (`tiers.whole`) where there are two cores; else none but pytest's own.

    The default run has a third process: its tests wait for half of their time, for a browser, a kernel, a measurement.
    Named files and folders, `-k`, what is slow or timed, and what somebody watches (``-s``, ``--pdb``, ``--trace``) run
    in one process; ``-n`` overrules it.
    """
    option = config.option
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not option.keyword
    watched = option.capture == "no" or option.usepdb or option.trace or option.collectonly
    if not (everything and tiers.whole(config)) or watched:
        return None
    from workbench.host import usable_threads

    if usable_threads() < 2:
        return None
    return 2 if option.markexpr in tiers.COMPUTING else 3


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory):
    """Tests neither read nor write the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def no_lab_stays_open():
    """What a lab keeps off is on again in the next test."""
    yield
    keep_off((), "")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture
def failed(request: pytest.FixtureRequest) -> Callable[[], bool]:
    """Ask, when the test is over, whether it failed."""
    return lambda: bool(request.node.stash[FAILED])

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any

# Before NumPy is loaded: kernels are compared and timed one at a time, a second pool of threads only disturbs them.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "default", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("deep", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

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


def _processes(config: pytest.Config) -> int | None:
    """Two processes for a run of all default tests where there are two cores; else none but pytest's own.

    So named files and folders, `-k`, what is slow or timed, and what somebody watches (``-s``, ``--pdb``, ``--trace``)
    run in one process; ``-n`` overrules it.
    """
    option = config.option
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not option.keyword
    default = all(f"not {name}" in option.markexpr for name in ("slow", "bench", "real_models"))
    watched = option.capture == "no" or option.usepdb or option.trace or option.collectonly
    if not (everything and default) or watched:
        return None
    from workbench.host import usable_threads

    return 2 if usable_threads() > 1 else None


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory):
    """Tests neither read nor write the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _no_browser() -> str:
    """Why browser tests cannot run here; empty when they can."""
    from browser.driver import chromium

    if chromium() is None:
        return "there is no Chromium on this machine"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "the Python package playwright is not installed"
    return ""


@pytest.fixture(scope="module")  # no longer: while it runs, other tests of the thread cannot use asyncio
def playwright() -> Iterator[Any]:
    """Skip, with the reason, where there is no browser; where the tests must run, that fails."""
    if reason := _no_browser():
        if os.environ.get("WORKBENCH_REQUIRE_BROWSER"):
            pytest.fail(f"browser tests must run here, but {reason}")
        pytest.skip(f"browser test not run: {reason}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        yield p


@pytest.fixture(scope="module")
def chrome(playwright: Any) -> Iterator[Any]:
    """The system's Chromium, for pages that need no notebook."""
    from browser.driver import FLAGS, chromium

    browser = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
    yield browser
    browser.close()


class Kept:
    """A page that the tests of a file use one after the other: a new one takes longer than what they show on it."""

    def __init__(self, browser: Any) -> None:
        self.browser, self.page = browser, None
        self.errors: list[str] = []

    def get(self, dress: Callable[[Any], None]) -> Any:
        """Return the page; `dress` says once what it is served and what runs before its scripts."""
        if self.page is None:
            self.page = self.browser.new_page(viewport={"width": 1300, "height": 900})
            self.page.set_default_timeout(5000)
            self.page.on("pageerror", lambda error: self.errors.append(str(error)))
            dress(self.page)
        return self.page

    def tidy(self) -> None:
        """Leave nothing that a new document would not undo: media that are emulated, and where the mouse is."""
        if self.page is not None:
            self.page.emulate_media(reduced_motion="null")
            self.page.mouse.move(1299, 1)

    def drop(self) -> None:
        """Close the page; the next test gets a new one."""
        if self.page is not None:
            self.page.close()
            self.page = None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture
def failed(request: pytest.FixtureRequest) -> Callable[[], bool]:
    """Ask, when the test is over, whether it failed."""
    return lambda: bool(request.node.stash[FAILED])


@pytest.fixture(scope="module")
def _kept(chrome: Any) -> Kept:
    return Kept(chrome)


@pytest.fixture
def kept(_kept: Kept, failed: Callable[[], bool]) -> Iterator[Kept]:
    """The file's page, for one test. An error on it fails the test; nothing of a test that failed is kept."""
    _kept.errors.clear()
    yield _kept
    if failed():
        _kept.drop()
    _kept.tidy()
    assert _kept.errors == []

"""The tiers of the tests: what a test belongs to follows from its folder or file, and from the markers it has.

``quick`` is the inner loop, the default run is what every change has to pass, and ``.ci/run`` adds ``checks``; ``slow``
and ``bench`` are for nights and for quiet machines. CONTRIBUTING says which command runs which tier.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
#: Folders and files of `quick`: the IR, schedules, golden texts, units of the graph, registries and their contracts.
QUICK = (
    "golden", "graph", "ir", "schedule", "codegen/test_backends.py", "tune/test_rule_contracts.py",
    "tune/test_strategies.py", "test_target.py",
)  # fmt: skip
#: Files in those folders that are not: networks that are compiled and run, and mutations.
LONG = (
    "graph/test_arena.py", "graph/test_import_memory.py", "graph/test_integers.py", "graph/test_joins.py",
    "graph/test_layout.py", "graph/test_models.py", "graph/test_quantised_networks.py", "graph/test_recurrent.py",
    "graph/test_toggle.py", "graph/test_uses.py", "graph/*mutations.py",
)  # fmt: skip
#: Tests with one of these are of that tier only, wherever they stand.
OTHERS = ("checks", "slow", "bench", "real_models")
#: Tiers whose tests compute all the time; those of the default run wait for half of it.
COMPUTING = ("quick", "checks")


def first(cases: Iterable[Any], count: int = 1) -> list[Any]:
    """Parameters of which the default run takes the first `count`, and `checks` the others."""
    return [case if k < count else pytest.param(case, marks=pytest.mark.checks) for k, case in enumerate(cases)]


@cache  # asked for each of 12,000 tests, answered for each file
def quick(path: Path) -> bool:
    """Whether a test file belongs to the inner loop."""
    place = path.relative_to(TESTS) if path.is_relative_to(TESTS) else path
    return any(place.is_relative_to(name) for name in QUICK) and not any(map(place.match, LONG))


def whole(config: pytest.Config) -> bool:
    """Whether a whole tier is wanted that any machine can run in several processes."""
    wanted = str(config.option.markexpr)
    return wanted in COMPUTING or all(f"not {name}" in wanted for name in OTHERS)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import what is not wanted: to collect all tests takes longer than to run the quick ones."""
    if config.option.markexpr != "quick" or not collection_path.match("test_*.py"):
        return None
    return not quick(collection_path) or None


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark what belongs to the inner loop."""
    if quick(item.path) and not any(item.get_closest_marker(name) for name in OTHERS):
        item.add_marker("quick")

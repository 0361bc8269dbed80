"""Runs of tests time their network for a fifth as long as a user's runs do; how exact that is, the tier `bench` asks.

A fixture of packages: the `conftest` of each whose tests tune networks imports it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from workbench.tune.constants import NetworkRuns


@pytest.fixture(autouse=True, scope="package")
def short_network_times() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(NetworkRuns, "SECONDS", NetworkRuns.SECONDS / 5)
        patch.setattr(NetworkRuns, "FINAL_SECONDS", NetworkRuns.FINAL_SECONDS / 5)
        yield

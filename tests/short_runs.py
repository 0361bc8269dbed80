"""Runs of tests time their network for a fifth as long as a user's runs do; how exact that is, the tier `bench` asks.

A fixture of packages: the `conftest` of each whose tests tune networks imports it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from workbench.tune.plan import network_timer


@pytest.fixture(autouse=True, scope="package")
def short_network_times() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network_timer, "SECONDS", network_timer.SECONDS / 5)
        patch.setattr(network_timer, "FINAL_SECONDS", network_timer.FINAL_SECONDS / 5)
        yield

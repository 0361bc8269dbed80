"""A closed panel leaves nothing behind: no listener on the model or the page, no observer, no element."""

from __future__ import annotations

import pytest

from frontend_model import states
from frontend_model.conftest import Panels


@pytest.mark.parametrize("panel", ["graph", "stages", "tasks", "tuning", "chart"])
def test_nothing_is_left_when_a_panel_is_closed(panels: Panels, panel: str) -> None:
    panels.open(panel, states.state())
    panels.settle()
    before = panels.page.evaluate("kernel.before")
    panels.page.evaluate("async () => { await kernel.close() }")
    panels.settle()
    after = panels.page.evaluate("({ listeners: kernel.listeners(), ...kernel.live })")
    assert after == before
    assert panels.page.locator("#place").inner_html() == ""

"""Nothing is cut, nothing lies on something else: from 1000 to 2560 pixels, at 100 and 200 %, by day and by night."""

from __future__ import annotations

import os
from typing import Any

import pytest
from browser.faults import FAULTS, SCREENS, shown_at
from tiers import first

from .conftest import Bench

PANELS = """() => [...document.querySelectorAll('[data-swb-panel]')].filter(e => e.checkVisibility())
    .map(e => e.dataset.swbPanel)"""


def faults(page: Any) -> list[str]:
    return list(page.locator(".swb").evaluate(FAULTS))


def picture(page: Any, name: str) -> None:
    """Keep a picture where somebody wants to look at it."""
    if folder := os.environ.get("WORKBENCH_PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png")


@pytest.mark.parametrize("at", first([(s, t, z) for z in (2, 1) for s in SCREENS for t in ("light", "dark")], 4))
def test_nothing_is_cut(bench: Bench, at: tuple[tuple[int, int], str, int]) -> None:
    page, (screen, theme, zoom) = bench.page, at
    with shown_at(page, screen, zoom) as width:
        bench.open(theme=theme, width=str(width - 24))
        for tab in ("schedule", "code", "tuning"):
            if tab != "schedule":
                page.click(f"[data-swb-tab={tab}]")
                page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
            picture(page, f"widget-{theme}-{screen[0]}-{zoom}-{tab}")
            assert faults(page) == [], tab


@pytest.mark.parametrize("at", first([(s, z) for z in (2, 1) for s in SCREENS]))
def test_all_the_room_by_a_key(bench: Bench, at: tuple[tuple[int, int], int]) -> None:
    page, (screen, zoom) = bench.page, at
    with shown_at(page, screen, zoom) as width:
        bench.open(width=str(width - 24))
        before = page.evaluate(PANELS)
        for focus, panel in ((".swb-nest [data-row='c']", "nest"), (".swb-tasks [tabindex='0']", "tasks")):
            page.locator(focus).first.focus()
            page.keyboard.press("w")
            wide = panel == "nest" and width - 24 >= 2200  # there its code is beside it
            assert page.evaluate(PANELS) == (["nest", "code"] if wide else [panel])
            assert faults(page) == []
            page.keyboard.press("w")
            assert page.evaluate(PANELS) == before


@pytest.mark.parametrize("screen", first(SCREENS[1:]))
def test_splitters_by_keyboard_at_several_widths(bench: Bench, screen: tuple[int, int]) -> None:
    """They stand between columns, of which a narrow window has one; `test_room` says what is remembered."""
    page = bench.page
    with shown_at(page, screen, 1) as width:
        bench.open(width=str(width - 24))
        for part, keys in (("left", ("ArrowRight", "ArrowLeft")), ("right", ("ArrowLeft", "ArrowRight"))):
            grip = page.locator(f".swb-splitter.is-{part}")
            grip.focus()
            before = int(float(grip.get_attribute("aria-valuenow")))
            page.keyboard.press(keys[0])
            more = int(float(grip.get_attribute("aria-valuenow")))
            assert more > before
            assert faults(page) == []
            page.keyboard.press("End")
            assert faults(page) == []
            page.keyboard.press("Enter")  # as it was
            assert int(float(grip.get_attribute("aria-valuenow"))) == before

"""What is wrong with how something is laid out, at any size of the window and zoomed to 200 %."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: Within an element: what sticks out of it, what is cut without an ellipsis, and buttons that lie on one another. What
#: something scrolls out of sight is not there.
FAULTS = """root => {
    const texts = 'button, p, b, dt, dd, h2, h3, li, progress, summary, input, select, code, small, th, td';
    const seen = one => {
        const { left, right, top, bottom } = one.getBoundingClientRect(), at = { left, right, top, bottom };
        for (let box = one.parentElement; box && box !== root; box = box.parentElement) {
            if (getComputedStyle(box).overflowX === 'visible') continue;
            const { left, right, top, bottom } = box.getBoundingClientRect();
            at.left = Math.max(at.left, left); at.right = Math.min(at.right, right);
            at.top = Math.max(at.top, top); at.bottom = Math.min(at.bottom, bottom);
        }
        return at;
    };
    const there = ({ left, right, top, bottom }) => right - left > 1 && bottom - top > 1;
    const shown = [...root.querySelectorAll(texts)]
        .filter(one => one.checkVisibility() && !one.closest('.swb-aside, svg') && there(seen(one)));
    const name = one => `${one.tagName} ${(one.getAttribute('aria-label') ?? one.innerText).slice(0, 30)}`;
    const found = [], box = root.getBoundingClientRect();
    for (const one of shown) {
        const at = seen(one), how = getComputedStyle(one);
        if (at.left < box.left - 1 || at.right > box.right + 1) found.push(`${name(one)} sticks out`);
        if (how.overflowX !== 'visible' && how.textOverflow !== 'ellipsis' && one.scrollWidth > one.clientWidth + 1)
            found.push(`${name(one)} is cut`);
    }
    const parts = [...root.querySelectorAll(
        '.swb-dag-stage, .swb-readout, .swbl-details, .swb-figure > :not([aria-hidden])')];
    const boxes = [...shown.filter(one => one.tagName === 'BUTTON' && !one.closest('.swb-dag-stage')), ...parts]
        .map(one => [one, seen(one)]).filter(([, at]) => there(at));
    for (const [one, a] of boxes) for (const [other, b] of boxes)
        if (!one.contains(other) && !other.contains(one) && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1)
            found.push(`${name(one)} lies on ${name(other)}`);
    return found; }"""

#: Pixels of a screen.
SCREENS = ((1000, 800), (1280, 900), (1600, 1000), (2560, 1440))
#: ... and how many of them a CSS pixel has on each side.
ZOOMS = (1, 2)


@contextmanager
def shown_at(page: Any, screen: tuple[int, int], zoom: int) -> Iterator[int]:
    """Show a page as a browser of this size does, at a zoom of 100 % or 200 %; gives the width in CSS pixels."""
    width, height = (n // zoom for n in screen)
    usual = page.viewport_size
    page.set_viewport_size({"width": width, "height": height})
    browser = page.context.new_cdp_session(page)
    metrics = {"width": width, "height": height, "deviceScaleFactor": zoom, "mobile": False}
    try:
        browser.send("Emulation.setDeviceMetricsOverride", metrics)
        page.wait_for_function("zoom => devicePixelRatio === zoom", arg=zoom)
        yield width
    finally:
        browser.send("Emulation.clearDeviceMetricsOverride")
        browser.detach()
        page.set_viewport_size(usual)

"""Contrast of every pair of text and ground that the styles use: 4.5 to 1, in both themes, in and out of JupyterLab."""

from __future__ import annotations

import pytest

from .conftest import Bench

ON = {
    "bg": "tx tx2 tx3 ac dng kw num",
    "bg2": "tx tx2 tx3 ac kw num",
    "ac": "ac-tx",
    "ac-soft": "tx tx2 tx3 ac kw num",
    "gone": "tx tx2 tx3 kw num",
    "dng-soft": "tx tx2 dng",
    "warn-soft": "tx tx2",
    "s1": "s-lo",
    "s3": "s-lo",
    "s5": "s-hi",
    "s6": "s-hi",
}
PAIRS = [(text, ground) for ground, texts in ON.items() for text in texts.split()]
LAB = {
    "light": {"--jp-layout-color1": "#fff", "--jp-ui-font-color0": "rgba(0, 0, 0, 1)"},
    "dark": {"--jp-layout-color1": "#212121", "--jp-ui-font-color0": "rgba(255, 255, 255, 1)"},
}
COLOURS = """names => {
  const root = document.querySelector('.swb'), probe = root.appendChild(document.createElement('i'));
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  return Object.fromEntries(names.map(name => {
    probe.style.color = `var(--swb-${name})`;
    canvas.fillStyle = getComputedStyle(probe).color;
    canvas.fillRect(0, 0, 1, 1);
    return [name, [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3)];
  }));
}"""


def luminance(colour: list[int]) -> float:
    parts = [c / 255 / 12.92 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a: list[int], b: list[int]) -> float:
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("host", ["plain", "lab"])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_can_be_read(bench: Bench, theme: str, host: str) -> None:
    page = bench.open(theme=theme).page
    if host == "lab":
        page.evaluate(
            "all => { for (const [k, v] of Object.entries(all)) document.documentElement.style.setProperty(k, v); }",
            LAB[theme],
        )
    colours = page.evaluate(COLOURS, sorted({name for pair in PAIRS for name in pair}))
    low = {pair: round(contrast(colours[pair[0]], colours[pair[1]]), 2) for pair in PAIRS}
    assert {pair: ratio for pair, ratio in low.items() if ratio < 4.5} == {}


def test_the_scale_is_monotone_in_lightness(bench: Bench) -> None:
    for theme, sign in (("light", -1), ("dark", 1)):
        bench.open(theme=theme)
        colours = bench.page.evaluate(COLOURS, [f"s{i}" for i in range(1, 7)])
        values = [sign * luminance(colours[f"s{i}"]) for i in range(1, 7)]
        assert values == sorted(values)


def test_focus_can_be_seen_and_motion_can_be_turned_off(bench: Bench) -> None:
    page = bench.open("measuring").page
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineWidth") == "2px"
    assert page.evaluate("getComputedStyle(document.querySelector('.swb-pulse i')).animationName") == "swb-pulse"
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate("getComputedStyle(document.querySelector('.swb-pulse i')).animationName") == "none"

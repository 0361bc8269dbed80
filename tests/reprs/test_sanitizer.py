"""The stand-in for JupyterLab's sanitiser must itself find what would be lost."""

from __future__ import annotations

import pytest
from reprs.sanitizer import bars, sanitize


@pytest.mark.parametrize(
    "fragment",
    [
        "<svg><path></path></svg>",
        "<style>b { color: red }</style>",
        "<script>alert(1)</script>",
        '<div onclick="f()">x</div>',
        '<div style="position: fixed">x</div>',
        '<div style="color: var(--jp-ui-font-color1)">x</div>',
        '<div style="color: currentColor">x</div>',
        '<div style="font-variant-numeric: tabular-nums">x</div>',
        '<img src="https://example.org/x.png">',
        '<img src="x" onerror="f()">',
        "<!-- remark -->",
        '<iframe src="x"></iframe>',
    ],
)
def test_what_a_notebook_does_not_show_is_found(fragment):
    assert sanitize(fragment).lost


@pytest.mark.parametrize(
    "fragment",
    [
        "<b>x",
        "<b>x</i></b>",
        "</b>",
        "<span><div>x</div></span>",
        "<table><tr><td>x</td></tr></table>",
        "<table><tbody><td>x</td></tbody></table>",
        "<table><tbody><tr>x</tr></tbody></table>",
        '<b title="a" title="b">x</b>',
        "<p><table><tbody></tbody></table></p>",
    ],
)
def test_what_is_not_well_formed_is_found(fragment):
    assert sanitize(fragment).faults


def test_a_plain_table_passes_as_it_is():
    fragment = (
        '<table style="border-collapse: collapse"><tbody><tr><td title="a &quot;b&quot;">1 &lt; 2</td><td>'
        '<span style="display: inline-block; width: 12px; height: 9px; background-color: rgba(1, 2, 3, 0.5)"></span>'
        "</td></tr></tbody></table>"
    )
    cleaned = sanitize(fragment)
    assert (cleaned.lost, cleaned.faults, cleaned.text, bars(cleaned)) == ([], [], "1 < 2", [12])
    assert cleaned.html == fragment

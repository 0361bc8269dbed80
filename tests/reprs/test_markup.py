"""Pieces of HTML: text stays text, numbers are readable, long things are cut and say so."""

from __future__ import annotations

import math

import pytest
from reprs.sanitizer import bars, sanitize

from workbench import markup as m

HOSTILE = '<img src=x onerror="f()">\'&amp;</td>'


def clean(fragment):
    cleaned = sanitize(fragment)
    assert cleaned.lost == []
    assert cleaned.faults == []
    return cleaned


@pytest.mark.parametrize(
    "piece",
    [
        m.text, m.faint, m.mono, m.bad, m.chip, m.line, m.section, m.code, m.join, m.page,
        lambda x: m.text(x, 10), lambda x: m.mono(x, 10), lambda x: m.bad(x, 10), lambda x: m.chips([x, x]),
        lambda x: m.heading("Thing", x, x), lambda x: m.label("name", x), lambda x: m.fold(x, x),
        lambda x: m.table([m.Column(x), m.Column("b", number=True)], [[x, x], [m.Wide(x, 2)]]),
    ],
)  # fmt: skip
def test_what_is_not_markup_stays_text(piece):
    cleaned = clean(piece(HOSTILE))
    assert "<img" not in cleaned.html
    assert HOSTILE[:8] in cleaned.text
    assert piece("plain") != piece("other")


def test_markup_is_not_escaped_twice():
    assert clean(m.join("a < b, ", m.Html("<b>c</b>"), m.faint(m.mono("<d>")))).text == "a < b, c<d>"


def test_a_long_name_is_cut_and_whole_in_the_title():
    name = "x" * 50 + '"' + "y" * 50
    cut = m.text(name, 20)
    assert clean(cut).text == "x" * 19 + "…"
    assert f'title="{"x" * 50}&quot;{"y" * 50}"' in cut
    assert m.text("x" * 20, 20) == "x" * 20
    assert len(m.text("x" * 100_000, 20)) < 600


def test_what_a_page_cannot_hold_is_replaced():
    assert m.text("a\x00b\x1b[1mc\ud800\u202ed") == "a\ufffdb\ufffd[1mc\ufffd\ufffdd"
    assert m.text("a\r\nb\tc é→") == "a\nb\tc é→"
    m.text("\ud800").encode()


@pytest.mark.parametrize(
    ("share", "width"),
    [(1.0, 80), (0.5, 40), (0.0001, 1), (7.0, 80), (0.0, None), (-1.0, None), (None, None), (math.nan, None)],
)
def test_bars(share, width):
    assert bars(clean(m.bar(share))) == ([] if width is None else [width])


def test_numbers_stand_at_the_right_in_digits_of_one_width():
    html = m.table([m.Column("name"), m.Column("ms", number=True)], [["a", "1.5"]])
    name, number = html.split("<td")[1:]
    assert "text-align: left" in name
    assert "text-align: right" in number
    assert "monospace" in number


def test_a_cut_table_says_how_much_is_left_out():
    rows = [[k] for k in range(45)]
    assert clean(m.table([m.Column("a")], m.cut(rows, 3, "kernels"))).text == "a012… 42 more kernels"
    assert clean(m.table([m.Column("a")], m.cut(rows, 45))).text.endswith("44")
    assert "… 97 more" in clean(m.table([m.Column("a")], m.cut(rows[:3], 3, "", 100))).text


def test_a_row_with_too_few_cells_is_an_error():
    with pytest.raises(AssertionError, match="as many cells"):
        m.table([m.Column("a"), m.Column("b")], [["x"]])


def test_code_is_kept_as_it_is_and_cut():
    assert clean(m.code("for i:\n  a < b & c\n")).text == "for i:\n  a < b & c"
    cleaned = clean(m.code("\n".join(f"line {k}" for k in range(100)) + "\n" + "x" * 9000, 10, 50))
    assert cleaned.text.splitlines()[-2:] == ["line 9", "… 91 more lines"]
    assert clean(m.code("x" * 90, 10, 50)).text == "x" * 49 + "…"


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (m.digits(0.000123456), "0.000123"), (m.digits(1.0), "1.00"), (m.digits(9.996), "10.0"),
        (m.digits(99.96), "100"), (m.digits(0.99951), "1.00"), (m.digits(123456), "123 456"), (m.digits(0), "0"),
        (m.digits(math.inf), "–"), (m.digits(None), "–"), (m.milliseconds(0.5339), "0.534 ms"),
        (m.milliseconds(None), "–"), (m.counted(1344), "1 344"), (m.counted(None), "–"), (m.compact(9999), "9 999"),
        (m.compact(258_000), "258 k"), (m.compact(3_610_000), "3.61 M"), (m.size(0), "0 B"), (m.size(1023), "1 023 B"),
        (m.size(1024), "1.00 KB"), (m.size(102_760_448), "98.0 MB"), (m.size(None), "–"),
        (m.operations(12), "12 FLOP"), (m.operations(3.7e6), "3.70 MFLOP"), (m.operations(999_999), "1.00 MFLOP"),
        (m.percent(0.1512), "15.1 %"), (m.percent(1.0), "100 %"), (m.percent(None), "–"), (m.percent(math.nan), "–"),
        (m.duration(42), "42 s"), (m.duration(185), "3 min 5 s"), (m.duration(7800), "2 h 10 min"),
        (m.duration(None), "–"), (m.plural(1, "node"), "1 node"), (m.plural(0, "node"), "0 nodes"),
        (m.plural(2, "pass", "passes"), "2 passes"), (m.shape((1, 56, 64)), "1×56×64"), (m.shape(()), "1"),
    ],
)  # fmt: skip
def test_numbers(made, expected):
    assert made.replace("\u202f", " ") == expected


def test_a_title_cannot_leave_its_quotes():
    shown = m.titled("short", 'x" onmouseover="alert(1)')
    assert shown == '<span title="x&quot; onmouseover=&quot;alert(1)">short</span>'

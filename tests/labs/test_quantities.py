"""Numbers as people write them: units, powers of two and ten, separators."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import UsageError
from workbench.labs.quantities import memory, other_unit, readings, with_unit, without_words

READ = [
    ("512 MiB", "MiB", 512),
    ("536.87 MB", "MiB", 512),
    (536.87, "MiB", 512),
    ("512 MB", "MiB", 512),
    ("0.5 GB", "MiB", 512),
    ("512 mb", "MiB", 512),
    ("2**20 B", "MiB", 1),
    ("512 bits", "B", 64),
    ("2 µs", "ns", 2000),
    ("60 %", "%", 60),
    (0.6, "%", 60),
    ("60 %", "", 0.6),
    ("0,5 ms", "ms", 0.5),
    ("230 GFLOPS", "GFLOP/s", 230),
    ("0.23 TFLOP/s", "GFLOP/s", 230),
    ("0.25 flop per byte", "FLOP/B", 0.25),
    ("10 GB/s", "GiB/s", 10),
    ("2^27", "", 1 << 27),
    ("2**-7", "", 1 / 128),
    ("134 million", "", 134e6),
    ("134,217,728", "loads", 1 << 27),
    ("3 M loads", "loads", 3e6),
    ("1 row", "rows", 1),
    ("12 cycles/iteration", "cycles per iteration", 12),
    ("3x", "", 3),
    ("16/3", "", 16 / 3),
    ("1/2 ms", "ms", 0.5),
]


@pytest.mark.parametrize(("said", "unit", "value"), READ)
def test_read(said, unit, value):
    assert any(found == pytest.approx(value, rel=1e-3) for found in readings(said, unit))


@pytest.mark.parametrize(
    ("said", "unit", "meant"),
    [
        (262144, "KiB", "B"),
        ("262,144 KiB", "KiB", "B"),
        (0.25, "KiB", "MiB"),
        (0.25, "MiB", "GiB"),
        (3, "MiB", ""),
        (256, "lines", ""),
    ],
)
def test_a_number_in_another_unit_is_known(said, unit, meant):
    assert other_unit(said, unit, {"KiB": 256, "MiB": 256}.get(unit, 2), 0.02) == meant


@pytest.mark.parametrize(
    ("said", "unit"),
    [("3 s", "MiB"), ("many", ""), ("", ""), ("1,2,3", ""), ("inf", ""), ("nan", "s"), ("3 rows", "cols")],
)
def test_refused(said, unit):
    with pytest.raises(UsageError) as caught:
        readings(said, unit)
    assert caught.value.code == "lab.prediction"


@pytest.mark.parametrize(
    ("said", "unit", "question", "value"),
    [
        ("480 accesses", "", "How many accesses of X miss when the nest goes along the rows?", 480),
        ("480 misses", "", "How many accesses of X miss?", 480),
        ("12 whole rows", "rows", "How many whole rows does the cache hold?", 12),
        ("16 elements per line", "", "How many elements of Y are in a line?", 16),
        ("3 million loads", "", "How many loads are there?", 3e6),
        ("480 lines", "", "How many accesses of X miss?", None),
        ("16 bits", "", "How many significant bits has it?", None),
        ("16 bytes", "", "How many numbers of 4 bytes are in a line?", None),
        ("3 lines", "rows", "How many rows of 9 lines fit?", None),
        ("3 rows", "KiB", "How many KiB are 3 rows?", None),
    ],
)
def test_words_of_the_question_may_stand_behind_a_number_of_things(said, unit, question, value):
    plain = without_words(said, unit, question)
    assert plain == (said if value is None else value)
    if value is None:
        with pytest.raises(UsageError) as caught:
            readings(plain, unit)
        assert f"'{said.partition(' ')[2]}'" in caught.value.message


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (1, "1 byte"),
        (12, "12 bytes"),
        (20480, "20 KiB"),
        (6146, "6,146 bytes"),
        (802816, "784 KiB"),
        (3 << 19, "1.5 MiB"),
    ],
)
def test_memory_is_shown_in_the_largest_unit_with_few_decimals(amount, text):
    assert memory(amount) == text


def test_a_refusal_names_the_units_that_are_read():
    for unit, taken in (("KiB", "GiB"), ("ms", "µs"), ("GFLOP/s", "TFLOP/s"), ("rows", "3 rows"), ("", "alone")):
        for said in ("3 apples", "many"):
            with pytest.raises(UsageError) as caught:
                readings(said, unit)
            assert taken in caught.value.hint
    with pytest.raises(UsageError) as caught:
        readings("3 apples", "KiB")
    for word in caught.value.hint.partition("read: ")[2].replace(" or ", ", ").split(", "):
        assert readings(f"3 {word}", "KiB")


@pytest.mark.parametrize("unit", ["", "MiB", "GB", "ms", "µs", "%", "GFLOP/s", "rows", "cycles", "FLOP/B"])
@given(value=st.floats(1e-6, 1e12))
def test_what_is_shown_is_read_back(unit, value):
    assert readings(with_unit(value, unit), unit)[0] == pytest.approx(value, rel=1e-4)


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (5971968.0, "", "5,971,968"),
        (1e18, "", "1e+18"),
        (16 / 3, "", "5.33333"),
        (1, "variants", "1 variant"),
        (1, "accesses", "1 access"),
        (2, "variants", "2 variants"),
        (1, "ms", "1 ms"),
    ],
)
def test_whole_numbers_are_shown_with_all_digits_and_one_thing_without_a_plural(value, unit, shown):
    assert with_unit(value, unit) == shown
    assert readings(shown, unit)[0] == pytest.approx(value, rel=1e-5)


@given(st.text(max_size=30))
def test_any_text_is_a_number_or_refused(text):
    try:
        found = readings(text, "MiB")
    except UsageError:
        return
    assert found

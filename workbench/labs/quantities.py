"""Numbers with units, as a person writes them: ``"512 MiB"``, ``"0.5 GB"``, ``"2 µs"``, ``"60 %"``, ``"3 million"``."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import NamedTuple

from workbench.arguments import shown
from workbench.errors import UsageError

_DECIMAL = {"": 1.0, "n": 1e-9, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "m": 1e-3, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9,
            "T": 1e12}  # fmt: skip
_BINARY = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}
_WORDS = {"thousand": 1e3, "million": 1e6, "billion": 1e9}
#: Words of a unit -> what it is counted in, and how many of these one is.
_UNITS = {
    **dict.fromkeys(("B", "byte", "bytes"), ("byte", 1.0)),
    **dict.fromkeys(("bit", "bits"), ("byte", 0.125)),
    **dict.fromkeys(("s", "sec", "second", "seconds"), ("second", 1.0)),
    **dict.fromkeys(("min", "minute", "minutes"), ("second", 60.0)),
    **dict.fromkeys(("FLOP", "flop", "FLOPs", "flops"), ("operation", 1.0)),
    **dict.fromkeys(("%", "percent"), ("", 0.01)),
    **dict.fromkeys(("", "x", "×", "times"), ("", 1.0)),
    "Hz": ("/second", 1.0),
}
_NUMBER = re.compile(r"\s*([-+]?(?:\d[\d,_' \u202f\u00a0]*)?(?:\.\d+|\d\.?)(?:[eE][-+]?\d+)?)\s*(.*?)\s*")
_POWER = re.compile(r"\s*(\d+)\s*(?:\^|\*\*)\s*(-?\d+)\s*(.*?)\s*")
_FRACTION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*/\s*(\d+(?:\.\d+)?)\s*(.*?)\s*")
_GROUPS = re.compile(r"[-+]?\d{1,3}(?:([,_' \u202f\u00a0])\d{3})(?:\1\d{3})*(?:\.\d+)?")
#: Whole numbers below this are shown with all digits.
_ALL_DIGITS = 10**15
_PLURAL = re.compile(r"[a-z]{2,}s")

#: What is counted -> units in which it may be said.
_TAKEN = {
    "byte": "B, KB, KiB, MB, MiB, GB or GiB",
    "second": "ns, µs, ms, s or min",
    "operation": "FLOP, MFLOP or GFLOP",
    "operation/second": "MFLOP/s, GFLOP/s or TFLOP/s",
    "byte/second": "MB/s, GB/s or GiB/s",
}


#: What is counted -> units that are mistaken for each other.
_MISTAKEN = {"byte": ("B", "KiB", "MiB", "GiB"), "second": ("ns", "µs", "ms", "s")}


class _Unit(NamedTuple):
    """What is counted, and how many of these one unit is: as it is written, and with MB read as 10^6 and as 2^20."""

    of: str
    factor: float
    decimal: float
    binary: float


def readings(said: float | str, unit: str) -> tuple[float, ...]:
    """Return what a number can mean, in the unit that is asked for; the most literal reading comes first.

    A number without a unit has the one that is asked for. KB, MB and GB are read as powers of 1000 and of 1024, because
    both are in use; KiB, MiB and GiB are exact. A share without a unit may be meant as one of 1 or as percent.

    Raises
    ------
    UsageError
        "lab.prediction" for what is no number, or has a unit of something else.
    """
    number, written = _parts(said, unit)
    asked = _unit(unit)
    given = _unit(written) if written else asked
    if not written and unit.strip() in ("%", "percent"):
        return (number, number * 100)
    if given.of != asked.of:
        wanted = f"in {unit}" if unit else "without a unit"
        text = f"{shown(said)} is in {shown(written)}, and a number {wanted} is asked for"
        raise UsageError("lab.prediction", text, (), _hint(unit))
    found = (given.factor, *(() if "i" in written else (given.decimal, given.binary)))
    return tuple(dict.fromkeys(number * f / asked.factor for f in found))


def with_unit(value: float, unit: str) -> str:
    """Return a number with its unit, as it is shown: whole numbers with all digits, one thing without a plural."""
    whole = abs(value) < _ALL_DIGITS and value == round(value)
    if value == 1 and _PLURAL.fullmatch(unit):
        unit = re.sub(r"(ss|sh|ch|x)es$|s$", r"\1", unit)
    return f"{value:{',.0f' if whole else ',.6g'}} {unit}".rstrip()


def other_unit(said: float | str, unit: str, right: float, within: float) -> str:
    """Return the unit in which a number would be the right one, ``"B"`` for KiB that are bytes; empty without one."""
    number = float(_parts(said, unit)[0])
    units = _MISTAKEN.get(_unit(unit).of, ())
    return next((u for u in units if close(readings(f"{number!r} {u}", unit)[0], right, within)), "")


def memory(amount: float) -> str:
    """Return bytes as they are shown: in the largest unit that needs at most three decimals."""
    for unit, size in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if amount >= size and (amount * 1000 / size).is_integer():
            return with_unit(amount / size, unit)
    return with_unit(amount, "bytes")


def close(value: float, right: float, within: float) -> bool:
    """Whether two numbers differ by at most the share `within` of the second."""
    return abs(value - right) <= within * abs(right)


def rounded(value: float, right: float) -> bool:
    """Whether a number is another one that somebody rounded: to two digits at least, and by 3 percent at most.

    Who can write the number in three digits has no reason to round it.
    """
    digits = len(Decimal(repr(float(value))).normalize().as_tuple().digits)
    long = not math.isclose(float(f"{right:.3g}"), right)
    return long and digits > 1 and close(value, right, 0.03) and math.isclose(float(f"{right:.{digits}g}"), value)


def without_words(said: str, unit: str, question: str) -> float | str:
    """Return a number of things without the words behind it, where the question has them all; else what was said.

    "480 accesses" answers "How many accesses of X miss?", and "12 whole rows" is a number of rows.
    """
    (number, written), asked = _parts(said, unit), _unit(unit)
    given, words = _unit(written), _words(written)
    if given.of == asked.of or not words or (asked.of and not asked.of.isalpha()) or _words(unit) & _MEASURED:
        return said
    fits = _words(unit) <= words <= _words(f"{question} {unit}") and not words & _MEASURED
    return number * given.factor / asked.factor if fits else said


def _words(text: str) -> set[str]:
    """The words of a text without the endings of a plural; none that says how many of something."""
    return {re.sub(r"[es]+$", "", word) for word in re.findall(r"[^\W\d_]+", text.casefold())} - {*_WORDS, "per", ""}


_MEASURED = _words(" ".join((*(of for of, _ in _UNITS.values()), "bit")))


def _hint(unit: str) -> str:
    """Say how to write a number in a unit, and which other units are read."""
    if not unit:
        return (
            'write the number alone, or with a word such as "million" behind it; a formula goes without quotation marks'
        )
    taken = _TAKEN.get(_unit(unit).of, "")
    return f'write a number, or a text such as "3 {unit}"' + (f"; units that are read: {taken}" if taken else "")


def _parts(said: float | str, unit: str) -> tuple[float, str]:
    """Number, and the unit as it is written."""
    if not isinstance(said, str):
        return said, ""
    if match := _POWER.fullmatch(said):
        base, exponent = int(match[1]), int(match[2])
        if 0 < base <= 1000 and abs(exponent) <= 100:
            return float(base) ** exponent, match[3]
    if (match := _FRACTION.fullmatch(said)) and float(match[2]):
        return float(match[1]) / float(match[2]), match[3]
    match = _NUMBER.fullmatch(said.replace("−", "-"))
    number = _number(match[1]) if match else None
    if match is None or number is None or not math.isfinite(number):
        raise UsageError("lab.prediction", f"{shown(said)} is no number", (), _hint(unit))
    return number, match[2]


def _number(text: str) -> float | None:
    """A number with separators of thousands, or with a decimal comma; None where these make no sense."""
    text = text.strip()
    if _GROUPS.fullmatch(text):
        return float(re.sub(r"[,_' \u202f\u00a0]", "", text))
    try:
        return float(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text)
    except ValueError:
        return None


def _unit(text: str) -> _Unit:
    """What a text such as ``GFLOP/s`` or ``cycles per row`` counts."""
    over, *under = re.split(r"\s*/\s*|\s+per\s+", re.sub(r"(?i)(FLOP)S\b(?!/)", r"\1/s", text.strip()), maxsplit=1)
    top = _simple(over)
    if not under:
        return top
    bottom = _simple(under[0])
    of = f"{top.of}/{bottom.of}" if bottom.of else top.of
    return _Unit(of, *(a / b for a, b in zip(top[1:], bottom[1:], strict=True)))


def _simple(text: str) -> _Unit:
    """A unit without a fraction: a prefix or a word such as million, and what is counted."""
    word, _, rest = text.strip().partition(" ")
    if word in _WORDS:
        found = _simple(rest)
        return _Unit(found.of, *(f * _WORDS[word] for f in found[1:]))
    if rest and word in _DECIMAL:
        text = rest
        return _scaled(word, _simple(rest))
    text = " ".join(text.split())
    if re.fullmatch(r"(?i)[kmgt]i?b", text):
        text = f"{text[0].upper()}{text[1:-1].lower()}B"
    if text in _UNITS:
        return _plain(text)
    for size in (2, 1):
        prefix, name = text[:size], text[size:]
        if (prefix in _BINARY or prefix in _DECIMAL) and (name in _UNITS or not name):
            return _scaled(prefix, _plain(name))
    return _Unit(re.sub(r"[es]+$", "", text.lower()), 1.0, 1.0, 1.0)


def _plain(name: str) -> _Unit:
    of, factor = _UNITS[name]
    return _Unit(of, factor, factor, factor)


def _scaled(prefix: str, unit: _Unit) -> _Unit:
    """A unit with a prefix; only prefixes of bytes have two readings."""
    letter = prefix[0].upper()
    factor = _BINARY.get(prefix, 0) or _DECIMAL[prefix]
    if unit.of != "byte" or f"{letter}i" not in _BINARY:
        return _Unit(unit.of, *(f * factor for f in unit[1:]))
    decimal = _DECIMAL[letter]
    return _Unit("byte", unit.factor * factor, unit.decimal * decimal, unit.binary * _BINARY[f"{letter}i"])

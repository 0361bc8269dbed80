"""What is said of any contests of two, one or several, disturbed or not, never contradicts the numbers beside it."""

from __future__ import annotations

import math
import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.runtime.results.comparison_words import SURE, factor, finding, how_sure
from workbench.runtime.results.contest import Contest
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.results.repeated_contests import how_many, together
from workbench.session.state.verdicts import PairResult

FASTER = r"× as fast( \(between [^)]*\))? as v"
KEYS = ((0, "a"), (0, "b"))


@st.composite
def contests(draw):
    """One to four contests of the same two, each with a ratio of its own near that of both."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    usual = draw(st.sampled_from([0.01, 0.3, 0.8, 0.97, 0.995, 1.0, 1.003, 1.06, 1.3, 4.0, 20.0]))
    drift = draw(st.sampled_from([0.0, 0.002, 0.02, 0.1, 0.5]))
    found = []
    for _ in range(draw(st.integers(1, 4))):
        rounds, noise = draw(st.sampled_from([1, 2, 4, 7, 10, 60])), draw(st.sampled_from([0.0, 0.001, 0.02, 0.3]))
        ratio = usual * math.exp(rng.normal(0.0, drift))
        costs = (np.exp(rng.normal(math.log(x), noise, rounds)).tolist() for x in (1.0, ratio))
        why_not = draw(st.sampled_from(["", "", "", "cc1 had 90 % of a core"]))
        measured = (Measurement(status="ok", costs_ms=tuple(c), why_not=why_not) for c in costs)
        found.append(Contest(measurements=tuple(measured), names=("v0", "v1")))
    return tuple(found)


def value(text, pattern):
    found = re.search(pattern, text)
    return None if found is None else float(found[1])


def written(ratio):
    """A ratio as words write it, whichever of the two is faster."""
    return float(factor(max(ratio, 1.0 / ratio)))


@settings(max_examples=300, deadline=None)
@given(contests())
def test_words_and_numbers_of_a_row_say_the_same(found):
    seen = together(found)
    said = finding(seen, 1, 0)
    faster, text = "v1" if said.ratio < 1.0 else "v0", said.text
    assert (said.known == "apart") == bool(re.search(FASTER, text)), text
    assert (said.known == "same") == ("take the same time" in text), text
    assert (said.known == "") == text.startswith("cannot tell"), text
    if said.known == "apart":
        assert text.startswith(f"{faster} is "), text
        assert value(text, r"([\d.]+)× as fast") == written(said.ratio)
        low = value(text, r"between ([\d.]+)")
        assert low is None or low >= 1.0, text
        high = value(text, r"between [\d.]+ and ([\d.]+)")
        assert high is None or low <= written(said.ratio) <= high, text
    elif (least := value(text, r"more than ([\d.]+)×")) is not None:
        assert written(said.ratio) <= least, text
    assert (said.confidence is not None) == (said.known == "apart" and seen.clean)
    assert text.endswith(", sure") == (said.confidence is not None and said.confidence >= SURE), text
    assert ("not sure" in text) == (said.known == "apart" and not seen.clean), text
    if said.confidence is not None:
        assert text.endswith(how_sure(said.confidence)), text


@settings(max_examples=200, deadline=None)
@given(contests())
def test_a_pair_says_the_same_in_the_tree_and_in_its_panel_from_either_side(found):
    pair = PairResult(KEYS)
    for one in found:
        pair = pair.also(KEYS, one)
    info, back = pair.info(0, 1, KEYS[0]), pair.info(1, 0, KEYS[1])
    beside = pair.verdict("v0", KEYS[0])
    said = finding(pair.seen_from(KEYS[0]), 1, 0)
    assert beside.told == (said.known == "apart") == bool(re.search(FASTER, info["text"]))
    assert (beside.confidence is None) == (info["confidence"] is None)
    assert beside.text.startswith("cannot tell") == (said.known != "apart"), (beside.text, info["text"])
    assert math.isclose(info["ratio"] * back["ratio"], 1.0, rel_tol=1e-3)
    assert math.isclose(info["ms"][1] / info["ms"][0], info["ratio"], rel_tol=1e-3)
    if pair.winner is not None:
        assert said.known == "apart", "nobody wins where the two cannot be told apart"
        assert (pair.winner == KEYS[1]) == (said.ratio < 1.0)


@settings(max_examples=200, deadline=None)
@given(contests())
def test_what_several_contests_differ_by_is_in_the_interval_of_all(found):
    seen = together(found)
    if len(found) < 2 or not seen.clean or seen.parts != found or seen.range is None:
        return
    told = [(math.log(one.ratio(1)), one.resolution(1)) for one in found if math.isfinite(one.resolution(1))]
    if len(told) == 2:
        for middle, _ in told:
            assert abs(middle - math.log(seen.ratio(1))) <= seen.resolution(1) * 1.001
    assert "that differ: " in how_many(found) or len({factor(1.0 / r) for r in seen.range}) == 1

"""Everything that a notebook shows: nothing is lost in the sanitiser, names stay text, what matters is there."""

from __future__ import annotations

import json

import pytest
from reprs.samples import HOSTILE, MAKERS, sample
from reprs.sanitizer import bars, sanitize

from workbench import markup


@pytest.fixture(scope="module")
def cleaned():
    """Sanitised HTML of a sample by name, and its plain text; made once."""
    made = {}

    def get(name):
        if name not in made:
            with sample(name) as thing:
                made[name] = sanitize(thing._repr_html_()), repr(thing), thing._repr_html_()
        return made[name][0]

    get.made = made
    return get


#: Their plain text has a line for each row.
TABLES = ("schedule", "moves", "knobs", "log", "profile")


@pytest.mark.parametrize("name", MAKERS)
def test_nothing_is_lost_and_the_markup_is_well_formed(cleaned, name):
    found = cleaned(name)
    assert found.lost == []
    assert found.faults == []
    assert found.text.strip()
    cleaned.made[name][2].encode()


@pytest.mark.parametrize("name", MAKERS)
def test_it_is_small_enough_to_be_saved(cleaned, name):
    cleaned(name)
    assert len(cleaned.made[name][2]) < 100_000


@pytest.mark.parametrize("name", [n for n in MAKERS if not n.startswith(TABLES)])
def test_the_plain_text_is_one_line(cleaned, name):
    cleaned(name)
    text = cleaned.made[name][1]
    assert "\n" not in text
    assert text.startswith("<")
    assert len(text) < 700


@pytest.mark.parametrize(
    "name", [n for n in MAKERS if "hostile" in n or n in ("measurement, failed", "session, failed")]
)
def test_a_hostile_name_is_shown_as_it_is(cleaned, name):
    found = cleaned(name)
    assert "<img" not in found.html
    assert "<script" not in found.html
    assert markup.clean(HOSTILE)[:40] in found.text


PROMISED = {
    "graph": ["residual", "20 nodes", "1 410 parameters", "data 1×3×16×16", "prob 1×10", "Conv ×6", "Softmax"],
    "graph, fused": ["12 kernels", "conv2d 3x3 8→8 @8x8 + bias + add + relu", "Conv + Sum + Relu", "4 passes ran"],
    "graph, 100 nodes": ["100 nodes", "chain29", "… 70 more nodes", "no parameters"],
    "graph, no nodes": ["nothing", "0 nodes", "x"],
    "task": ["transpose 1x3x16x16", "X 1×3×16×16", "block"],
    "task, hostile": ["20 times in the model", "… 14 more"],
    "task of 1500 stages": ["24.0 kFLOP", "more lines"],
    "schedule": ["matmul", "0 steps", "3 loops", "C[i, j] += A[i, k] * B[k, j]", "sum"],
    "schedule, tiled": ["4 steps", "j.0", "vectorize · ", "split('j', [None, 16])", "parallel('i')"],
    "schedule, undone": ["2 steps", "2 steps undone"],
    "schedule, holes": ["?rows", "open", "open numbers", "(2, 4, 8)", "?columns"],
    "schedule, 3000 rows": ["1 500 loops", "more rows", "more lines"],
    "moves": ["Moves", "of them legal", "parallel('j.0')"],
    "moves, none": ["0 steps"],
    "kernel": ["Kernel", "matmul", "A 64×64", "thread", "of code", "vectorize · "],
    "executable": ["residual", "11 calls", "data 1×3×16×16", "for intermediate results",
                   "11 tasks run with their default"],
    "benchmark": ["1.50 ms", "mean", "median", "max", "min", "deviation", "0.408 ms", "60 repetitions",
                  "… 30 more repetitions"],
    "profile": ["3 calls", "2 threads", "0.0300 ms for a run", "0.00600 ms for the sum",
                "0.0500 GFLOP/s; memory 1 GB/s", "compute", "memory", "200 %", "why not conv2d"],
    "profile, 100 calls": ["100 calls", "… 60 more calls"],
    "profile, no calls": ["0 calls"],
    "profile, hostile": ["2 calls"],
    "measurement": ["0.600 ms", "least 0.500 ms", "3 repetitions", "1.67 GFLOP/s", "spread"],
    "measurement, disturbed": ["at least 0.400 ms", "0.500 ms seen", "the second of 2 threads had 55 % of a core"],
    "measurement, one repeat": ["0.500 ms", "timed once"],
    "measurement, failed": ["run error", "ValueError", "line 1"],
    "measurement, failed without text": ["timeout"],
    "session": ["done", "24 of 24 trials", "task 2", "×3", "timeout", "measured", "times as fast as untuned", "100 %"],
    "session, idle": ["idle", "0 of 24 trials", "waiting"],
    "session, failed": ["failed", "RuntimeError: no space left"],
    "session, every trial failed": ["8 wrong answer", "no result"],
    "session, 60 tasks": ["task 59", "… 20 more tasks"],
    "log": ["7 trials", "2 tasks", "1 failed", "1 timeout", "1.14 ms", "×2", "why not conv2d", "7 rows"],
    "log, 500 trials of 30 tasks": ["500 trials", "30 tasks", "… 490 more trials", "… 10 more tasks", "100 failed"],
    "log, empty": ["0 trials", "0 rows"],
    "log, all failed": ["10 failed", "5 timeout", "5 wrong answer"],
}  # fmt: skip


@pytest.mark.parametrize("name", PROMISED)
def test_what_matters_is_there(cleaned, name):
    text = cleaned(name).text.replace("\u202f", " ").replace("\xa0", " ")
    missing = [p for p in PROMISED[name] if p not in text]
    assert missing == []


@pytest.mark.parametrize(
    "name",
    [
        "schedule",
        "schedule, tiled",
        "schedule, holes",
        "kernel",
        "executable",
        "benchmark",
        "profile",
        "session",
        "log",
    ],
)
def test_bars_are_still_drawn_and_differ(cleaned, name):
    assert len(set(bars(cleaned(name)))) > 1


def test_bars_of_a_session_are_the_shares(cleaned):
    text = cleaned("session").text
    shares = [float(x.split("\u202f%")[0][-4:]) for x in text.split("ms")[3:6]]
    widths = bars(cleaned("session"))[-3:]
    assert sum(shares) == pytest.approx(100, abs=0.2)
    assert widths == [pytest.approx(0.8 * s, abs=1) for s in shares]


def test_nothing_depends_on_a_style_sheet(cleaned):
    for name in MAKERS:
        html = cleaned(name).html
        for word in ("class=", "var(", "currentColor", "url("):
            assert word not in html, name


def test_a_very_large_nest_is_shown_at_once():
    with sample("schedule, 3000 rows") as schedule:
        html = schedule._repr_html_()
        assert len(html) < 1_000_000


def test_moves_are_a_list_still():
    with sample("moves") as moves:
        assert isinstance(moves, list)
        assert moves[0].legal
        assert repr(moves[0]).startswith("<Move ")
        assert str(moves[0]) == str(moves[0].step)
        json.dumps(moves[0].to_json())


def test_a_list_of_tasks_is_short():
    with sample("task") as task:
        assert len(repr([task] * 29)) < 29 * 100

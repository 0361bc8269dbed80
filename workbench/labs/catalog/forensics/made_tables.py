"""Exercises on tables that are made with a secret: mixed units, a rule of failures, an analysis that is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Prediction, Setting
from workbench.labs.goals import Case, right_for

if TYPE_CHECKING:
    import pandas

# ------------------------------------------------------------------------------------------------ units


def _seconds(value: Any, unit: Any, status: Any) -> Any:
    in_seconds = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
    return value * in_seconds[unit] if status == "ok" else float("inf")


_CASES = (
    ((2.5, "ms", "ok"), 2.5e-3),
    ((0.25, "s", "ok"), 0.25),
    ((130.0, "us", "ok"), 1.3e-4),
    ((130.0, "µs", "ok"), 1.3e-4),
    ((7e5, "ns", "ok"), 7e-4),
    ((0.0, "ms", "run"), inf),
    ((1e10, "s", "run-timeout"), inf),
)


UNITS = Exercise(
    name="units",
    title="The same column, other units",
    task="A colleague has joined three logs. One wrote milliseconds, one microseconds, one nanoseconds, and the column "
    "is called time in all of them. In the joined table, 0.9 stands first when sorted, then 850, then 1.2e6 is last; "
    "they are 0.9 ms, 850 µs and 1.2e6 ns. Which of the three is the fastest? How many times as long as the fastest "
    "does the slowest take?\n\n"
    "Write seconds(value, unit, status): the time in seconds, and float('inf') where the status is not 'ok'. Units are "
    "s, ms, us, µs and ns.",
    predictions=(
        Prediction(
            "fastest",
            "Which is the fastest?",
            "850",
            choices=("0.9", "850", "1.2e6"),
            misconceptions=(
                Misconception("0.9", "0.9 ms are 900 µs."),
                Misconception("1.2e6", "1.2e6 ns are 1,200 µs."),
            ),
        ),
        Prediction(
            "times",
            "How many times as long does the slowest take?",
            1.2e6 / 850e3,
            misconceptions=(
                Misconception(1.2e6 / 0.9, "These are numbers of different units."),
                Misconception(1.2 / 0.9, "The slowest over the fastest: 0.9 ms is the one between."),
                Misconception(850 / 1200, "That is the fastest over the slowest."),
            ),
        ),
    ),
    work=Function("seconds", _seconds),
    goals=(right_for("Times are right in every unit, and failures have none.", _CASES, within=1e-9),),
    hints=(
        "Bring all three to microseconds first: 900, 850, 1,200.",
        "A dict from the unit to its seconds does it; the status is asked before the value.",
    ),
    why="900, 850 and 1,200 µs. A table that mixes units sorts without complaint; so a log has to say its unit beside "
    "each value, and a reader has to convert before it compares.",
)


# ------------------------------------------------------------------------------------------------ failures


_VALUES = {"x": (8, 16, 32, 64, 128), "y": (1, 2, 4, 8, 16, 32), "unroll": (1, 2, 4, 8, 16), "shared": (0, 1)}


def _breaks(x: Any, y: Any, unroll: Any, shared: Any) -> Any:
    return x * y > 512 or (shared == 1 and unroll >= 8)


def failures() -> pandas.DataFrame:
    """Return 200 configurations with their status, of a device whose blocks have a limit of threads; a new table."""
    import pandas as pd

    every = list(product(*_VALUES.values()))
    drawn = np.random.default_rng(512).permutation(len(every))[:200]
    rows = [dict(zip(_VALUES, every[k], strict=True)) for k in drawn]
    return pd.DataFrame([{**row, "status": "run" if _breaks(**row) else "ok"} for row in rows])


def _agrees(fails: Any, at: Setting) -> tuple[bool, str]:
    wrong = [row for row in product(*_VALUES.values()) if bool(fails(*row)) != _breaks(*row)]
    if not wrong:
        return True, "It is right for all 300 configurations, those that were not in the table included."
    told = ", ".join(f"{name} = {value}" for name, value in zip(_VALUES, wrong[0], strict=True))
    word = "fail" if _breaks(*wrong[0]) else "run"
    return False, f"It is wrong for {len(wrong)} of 300 configurations; {told} does {word}."


def _threads_only(fails: Any, at: Setting) -> tuple[bool, str]:
    rows = [row for row in product(*_VALUES.values()) if row[3] == 0]
    wrong = sum(bool(fails(*row)) != _breaks(*row) for row in rows)
    return wrong == 0, f"Without shared memory it is wrong for {wrong} of {len(rows)} configurations."


def _fails_share(at: Setting) -> float:
    return 100.0 * float((failures()["status"] != "ok").mean())


FAILS = Exercise(
    name="fails",
    title="What failures have in common",
    task="failures(), which the notebook imports, is a table of 200 configurations of a kernel: x, y, unroll, "
    "shared, and a status: ok, or run where it failed while it ran. Which share fails? Does one parameter alone decide "
    "it?\n\n"
    "Find the rule: it has two parts, a limit on a product of two parameters, and a condition on the two others. Write "
    "fails(x, y, unroll, shared), which is right for configurations that are not in the table, too.",
    predictions=(
        Prediction(
            "share",
            "Which share of the table fails?",
            _fails_share,
            "%",
            (
                Misconception(lambda at: 100 - _fails_share(at), "That is the share that runs."),
                Misconception(lambda at: 2 * _fails_share(at), "That is how many fail, of 200. Which share is it?"),
            ),
            within=0.01,
        ),
        Prediction(
            "alone",
            "Does one parameter alone decide it?",
            "no",
            choices=("yes", "no"),
            misconceptions=(
                Misconception("yes", "For each value of that parameter: do all fail, or none? groupby shows it."),
            ),
        ),
    ),
    work=Function("fails", _breaks),
    goals=(
        Goal("It is right for all configurations without shared memory.", _threads_only),
        Goal("It is right for all configurations.", _agrees),
    ),
    hints=(
        "Look at those with shared = 0 alone: table.assign(threads=table.x * table.y), sorted by threads.",
        "Among those with few threads that fail, what do shared and unroll have in common?",
        "x * y > a limit, or shared == 1 and unroll >= something. Both numbers can be read off sorted tables.",
    ),
    why="Threads in a block have a limit, and with shared memory a large unroll needs too much of it: both are "
    "products and conditions on two parameters, so no single column shows them. A rule that was found is worth more "
    "than a list of failures: the next search need not try them.",
)


# ------------------------------------------------------------------------------------------------ repair


@cache
def _groups() -> pandas.DataFrame:
    """Few records with failures, where the mean, or failures taken as times, name another value."""
    import pandas as pd

    rows = [(16, "ok", 2.0), (16, "ok", 2.1), (16, "ok", 9.0), (32, "ok", 2.4), (32, "ok", 2.5), (32, "ok", 2.6)]
    rows += [(64, "run", 0.0), (64, "run", 0.0), (64, "ok", 3.0), (128, "compile", 0.0)]
    return pd.DataFrame(
        {"params": [{"tile": r[0]} for r in rows], "status": [r[1] for r in rows], "cost_s": [r[2] for r in rows]}
    )


def _better(records: Any, name: Any) -> Any:
    ok = records[records["status"] == "ok"]
    return ok["cost_s"].groupby([params[name] for params in ok["params"]]).median().idxmin()


def _of_log(at: Setting) -> Iterator[Case]:
    from workbench.labs.catalog.forensics.real_logs import table

    for name in ("block_size_x", "tile_size_x", "tile_size_y", "use_shmem"):
        yield (table("A100"), name), _better(table("A100"), name), f"{name} of the A100's log"


REPAIR = Exercise(
    name="repair",
    title="Repair: an analysis that is wrong",
    task="Somebody wants to know which value of a parameter is typically the fastest, and takes the least mean time of "
    "each value over all records. The notebook has that function. It has two mistakes: what fails has a time of 0 in "
    "some logs, and a few very slow configurations decide the mean.\n\n"
    "Write better(records, name): the value of the parameter whose valid records have the least median time.",
    predictions=(
        Prediction(
            "median",
            "Three times of a value are 2.0, 2.1 and 9.0 ms. What is their median?",
            2.1,
            "ms",
            (
                Misconception(13.1 / 3, "That is the mean, which one slow run decides."),
                Misconception(5.5, "That is the middle between the least and the greatest."),
                Misconception(2.0, "That is the least."),
            ),
        ),
    ),
    work=Function("better", _better),
    goals=(
        right_for(
            "It is right in a small table with failures and one slow record.",
            lambda at: [((_groups(), "tile"), 16, "a table with failures and one slow record")],
        ),
        right_for("It is right for four parameters of the A100's log.", _of_log),
    ),
    hints=(
        "Keep the records whose status is 'ok', then group by the value of the parameter: a list of params[name].",
        "ok['cost_s'].groupby([params[name] for params in ok['params']]).median() has a value for each group; idxmin() "
        "names the least.",
    ),
    why="A failure is no fast run, and a mean belongs to its largest member. A median of what is valid says what is "
    "typical; whether the best of all has that value is another question.",
)

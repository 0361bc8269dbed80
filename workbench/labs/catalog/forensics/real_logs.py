"""Exercises on real logs: Kernel Tuner's of a convolution on two GPUs, AutoTVM's of BERT."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.labs.exercise import Exercise, Function, Misconception, Prediction, Setting
from workbench.labs.goals import Case, right_for
from workbench.labs.sample_logs import sample_log
from workbench.logs import open as open_log
from workbench.logs.analysis import best_so_far, portability, winners
from workbench.logs.analysis.progress import reached as reached_at

if TYPE_CHECKING:
    import pandas

LOGS = {"A100": "convolution-A100.json.gz", "A4000": "convolution-A4000.json.gz", "BERT": "bert-excerpt.log.gz"}
#: Share of the best that is near enough.
NEAR = 0.05


@cache
def table(name: str) -> pandas.DataFrame:
    """Return the records of a log; of BERT's, those of its first task."""
    log = open_log(sample_log(LOGS[name]))
    found: pandas.DataFrame = log.records[log.records["task"] == log.tasks["task"].iloc[0]].reset_index(drop=True)
    return found


# ------------------------------------------------------------------------------------------------ the fastest


@cache
def _odd() -> pandas.DataFrame:
    """Records whose failures look fast, or look like nothing."""
    import pandas as pd

    cost = [0.0, 2e-3, float("nan"), 1.5e-3, 1e-9, 1e10, 1.6e-3]
    status = ["run", "ok", "compile", "ok", "wrong-answer", "run-timeout", "ok"]
    return pd.DataFrame({"record": range(10, 17), "status": status, "cost_s": cost})


def _fastest(records: Any) -> Any:
    ok = records[records["status"] == "ok"]
    return ok.loc[ok["cost_s"].idxmin(), "record"]


@cache
def _best(name: str) -> int:
    return int(winners(table(name))["record"].iloc[0])


def _share(name: str, failed: tuple[str, ...] = ()) -> float:
    status = table(name)["status"]
    return 100.0 * float(status.isin(failed).mean() if failed else (status != "ok").mean())


FASTEST = Exercise(
    name="fastest",
    title="The fastest that counts",
    task="Open the A100's log of a convolution (Kernel Tuner has measured every allowed configuration). Which share of "
    "its records failed, of whatever kind? A failure can stand in a log with a time: 0, a very large number, or the "
    "time of a run whose result was wrong.\n\n"
    "Write fastest(records): it takes a table of records with the columns record, status and cost_s, and returns the "
    "number (the value in the column record) of the fastest one that counts.",
    predictions=(
        Prediction(
            "failed",
            "Which share of the A100's records failed?",
            lambda at: _share("A100"),
            "%",
            (
                Misconception(
                    lambda at: _share("A100", ("run",)), "There is more than one kind of failure: value_counts()."
                ),
                Misconception(lambda at: 100 - _share("A100"), "That is the share that did not fail."),
                Misconception(
                    lambda at: _share("A100") / (1 - _share("A100") / 100),
                    "Failed over succeeded is another number: divide by all records.",
                ),
            ),
            within=0.01,
        ),
    ),
    work=Function("fastest", _fastest),
    goals=(
        right_for(
            f"It finds the fastest record of {', '.join(LOGS)}.",
            lambda at: [((table(name),), _best(name), f"the log of {name}") for name in LOGS],
        ),
        right_for("Odd failures do not fool it.", lambda at: [((_odd(),), 13, "a table with odd failures")]),
    ),
    hints=(
        "Keep the records whose status is 'ok' first; then look for the least cost_s.",
        "ok = records[records['status'] == 'ok'], then ok.loc[ok['cost_s'].idxmin(), 'record'].",
    ),
    why="Only what ran with a right result has a time. Each tuner writes failures in its own way; the status is the "
    "one column that is the same for all of them.",
)


# ------------------------------------------------------------------------------------------------ how late


def _needed(costs: Any, share: Any) -> Any:
    best = np.minimum.accumulate(np.asarray(costs, float))
    return int(np.argmax(best <= (1 + share) * best[-1])) + 1


def _costs(name: str) -> list[float]:
    records = table(name)
    return records["cost_s"].where(records["status"] == "ok", np.inf).astype(float).tolist()


@cache
def _needed_in(name: str, share: float) -> int:
    """The same, as the analysis of logs has it: a share of the best time is the inverse of a share of speed."""
    return reached_at(best_so_far(table(name)), 1 / (1 + share)) or 0


#: Costs, and the evaluations that are needed with shares of 0, 0.05 and 1.
_SMALL = (
    ((3.0, 0.05, 1.0), (2, 2, 2)),
    ((3.0, 2.0, 1.0, 1.0, 5.0), (3, 3, 2)),
    ((float("inf"), 4.0, 3.9, 2.0), (4, 4, 2)),
)


def _lists(at: Setting) -> Iterator[Case]:
    for costs, counts in _SMALL:
        yield from (((list(costs), share), right) for share, right in zip((0.0, NEAR, 1.0), counts, strict=True))
    for name in ("BERT", "A100"):
        yield (_costs(name), NEAR), _needed_in(name, NEAR), f"the log of {name} and a share of {NEAR:g}"


LATE = Exercise(
    name="late",
    title="When to stop",
    task="AutoTVM's log of BERT has two tasks; take the records of the first. After how many trials was the best so "
    f"far within {NEAR:.0%} of the best of all? (Count from 1; failed trials count as trials, and have an infinite "
    "cost.) And how many trials of the task are there in all?\n\n"
    "Write needed(costs, share): the number of evaluations until the best so far is at most (1 + share) times the "
    "best of all.",
    predictions=(
        Prediction(
            "trials",
            "After how many trials was it that near?",
            lambda at: _needed_in("BERT", NEAR),
            "trials",
            (
                Misconception(lambda at: _needed_in("BERT", NEAR) - 1, "Counted from 0? The first trial is 1."),
                Misconception(lambda at: _needed_in("BERT", 0.0), "That is when the very best was found."),
                Misconception(lambda at: len(_costs("BERT")), "That is how many trials there are in all."),
            ),
            within=0,
        ),
        Prediction(
            "all", "How many trials of the first task are there?", lambda at: len(_costs("BERT")), "trials", within=0
        ),
    ),
    work=Function("needed", _needed),
    goals=(right_for("It is right for short lists, for BERT's task and for the A100's log.", _lists),),
    hints=(
        "The best so far never rises: numpy.minimum.accumulate, or a loop with min.",
        "The last value of the best so far is the best of all. Which is the first that is near enough to it?",
    ),
    why="The best so far falls quickly and then hardly at all. How early a run was good enough, you know only "
    "afterwards; but over many logs it says how many trials the next task deserves.",
)


# ------------------------------------------------------------------------------------------------ another device


def _carried(first: Any, second: Any) -> Any:
    ok, there = first[first["status"] == "ok"], second[second["status"] == "ok"]
    mine = first.loc[ok["cost_s"].idxmin(), "params"]
    found = there.loc[[params == mine for params in there["params"]], "cost_s"]
    return there["cost_s"].min() / found.iloc[0] if len(found) else 0.0


@cache
def _share_of(first: str, second: str) -> float:
    return 100.0 * float(portability([table(first), table(second)])["share"].iloc[1])


def _directions(at: Setting) -> Iterator[Case]:
    for first, second in (("A100", "A4000"), ("A4000", "A100"), ("A100", "A100")):
        yield (table(first), table(second)), _share_of(first, second) / 100, f"the {first}'s best on the {second}"


def _missing(at: Setting) -> Iterator[Case]:
    first, second = table("A100"), table("A4000")
    best = first.loc[first["record"] == _best("A100"), "params"].iloc[0]
    yield (first, second[[params != best for params in second["params"]]]), 0, "a device without that configuration"


TRANSFER = Exercise(
    name="transfer",
    title="A winner elsewhere",
    task="The A100's best configuration, used on an A4000: which share of the A4000's best speed does it reach? "
    "(Speed is the inverse of time: 100 % is as fast as the A4000's own best.) And the A4000's best on the A100?\n\n"
    "Write carried(first, second), which takes two tables of records (with params, a dict per record) and returns that "
    "share as a number from 0 to 1; 0 where the configuration did not run on the second device.",
    predictions=(
        Prediction(
            "there",
            "Which share of the A4000's best speed does the A100's best configuration reach on the A4000?",
            lambda at: _share_of("A100", "A4000"),
            "%",
            (
                Misconception(100, "That it is the same kernel does not make it the same machine. Look it up."),
                Misconception(
                    lambda at: 1e4 / _share_of("A100", "A4000"),
                    "That is time over time. A share of speed is at most 100 %.",
                ),
                Misconception(lambda at: _share_of("A4000", "A100"), "That is the other direction."),
            ),
        ),
        Prediction(
            "back",
            "Which share of the A100's best speed does the A4000's best configuration reach on the A100?",
            lambda at: _share_of("A4000", "A100"),
            "%",
            (Misconception(lambda at: _share_of("A100", "A4000"), "It is not the same in both directions."),),
        ),
    ),
    work=Function("carried", _carried),
    goals=(
        right_for("It is right for both directions, and from a device to itself.", _directions, within=1e-6),
        right_for("It returns 0 where the configuration did not run.", _missing),
    ),
    hints=(
        "Find params of the fastest record of the first table; find the record of the second one with the same params.",
        "A dict cannot be a key: tuple(sorted(params.items())) can.",
        "The share is the least cost of the second table over the cost of that configuration there.",
    ),
    why=lambda at: (
        f"Two GPUs of the same generation, and {100 - _share_of('A100', 'A4000'):.0f} % of the speed is lost in one "
        f"direction, {100 - _share_of('A4000', 'A100'):.0f} % in the other: a configuration belongs to a device. That "
        "is why logs name it, and why a log of another device is a start for a search, not its end."
    ),
)

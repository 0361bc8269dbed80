"""Exercises on a recorded machine: what chance finds, how well a model ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.cost_model.prediction_quality import pairs_in_order, spearman
from workbench.labs.exercise import Exercise, Function, Misconception, Prediction, Setting
from workbench.labs.goals import Case, right_for
from workbench.labs.recorded_machines import RecordedMachine, recorded

#: Evaluations of a search.
BUDGET = 60


@cache
def machine(name: str) -> RecordedMachine:
    """Return the recorded machine of a GPU that runs the convolution: ``"a100"`` or ``"a4000"``."""
    return recorded(f"{name}-convolution", answers=True)


@cache
def _costs() -> NDArray[np.float64]:
    """Seconds of every configuration on the A100; infinite where it failed."""
    records = machine("a100").log.records
    costs: NDArray[np.float64] = records["cost_s"].where(records["status"] == "ok", np.inf).to_numpy(np.float64)
    return costs


# ------------------------------------------------------------------------------------------------ chance


def _near(at: Setting) -> int:
    """Configurations that take at most so many percent more than the optimum."""
    return int((_costs() <= (1 + at["percent"] / 100) * _costs().min()).sum())


def _chance(good: Any, total: Any, draws: Any) -> Any:
    return 1 - math.comb(total - good, draws) / math.comb(total, draws)


def _missed(good: int, total: int, draws: int) -> float:
    """The same draw by draw: each of them misses among those that are left."""
    return 1 - math.prod((total - good - k) / (total - k) for k in range(draws))


def _half(at: Setting) -> int:
    total, good, missed, draws = len(_costs()), _near(at), 1.0, 0
    while missed > 0.5:
        missed *= (total - good - draws) / (total - draws)
        draws += 1
    return draws


CHANCE = Exercise(
    name="chance",
    title="How far chance gets",
    task=lambda at: (
        f"The A100's log has every configuration of its space: {len(_costs()):,}. How many of them take at most "
        f"{at['percent']} % more time than the best? Call these near. Draw {BUDGET} configurations at random, none "
        "twice: with which probability is at least one of them near? How many draws does it take until that is at "
        "least one half?\n\n"
        "Write chance(good, total, draws): the probability that at least one of the draws is good, where none is drawn "
        "twice."
    ),
    predictions=(
        Prediction(
            "near",
            lambda at: f"How many configurations take at most {at['percent']} % more than the best?",
            _near,
            "configurations",
            (
                Misconception(
                    lambda at: at["percent"] / 100 * len(_costs()),
                    "The percentage is one of time, not of the configurations. Query the table.",
                ),
                Misconception(
                    lambda at: int((_costs() <= _costs().min() / (1 - at["percent"] / 100)).sum()),
                    "You have taken a share off the speed. Add it to the time.",
                ),
                Misconception(lambda at: _near(at) - 1, "The best itself is near the best."),
            ),
            within=0,
        ),
        Prediction(
            "found",
            f"With which probability do {BUDGET} draws find one that is near?",
            lambda at: 100 * _chance(_near(at), len(_costs()), BUDGET),
            "%",
            (
                Misconception(
                    lambda at: 100 * BUDGET * _near(at) / len(_costs()),
                    "That is how many near ones are found on average; draws with two of them count twice in it.",
                ),
                Misconception(lambda at: 100 * _near(at) / len(_costs()), "That is one draw."),
                Misconception(lambda at: 100 - 100 * _chance(_near(at), len(_costs()), BUDGET), "That they find none."),
            ),
        ),
        Prediction(
            "half",
            "How many draws does it take until the probability is at least one half?",
            _half,
            "draws",
            (
                Misconception(
                    lambda at: len(_costs()) / _near(at),
                    "One draw in that many is near, on average. After how many is the probability one half?",
                ),
                Misconception(
                    lambda at: len(_costs()) / _near(at) / 2,
                    "The probability does not grow by the same with each draw.",
                ),
                Misconception(lambda at: len(_costs()) / 2, "Half of the space has half of all near ones."),
            ),
            within=0.005,
        ),
    ),
    work=Function("chance", _chance),
    goals=(
        right_for(
            "It is right for small spaces.",
            [(case, _missed(*case)) for case in ((1, 2, 1), (1, 10, 10), (3, 10, 2), (0, 5, 3))],
            within=1e-6,
        ),
        right_for(
            "It is right for spaces of thousands.",
            [(case, _missed(*case)) for case in ((8, 4362, 60), (40, 4362, 200), (583, 4362, 5))],
            within=1e-6,
        ),
    ),
    hints=(
        "Ask for the opposite: with which probability do all draws miss?",
        "The first draw misses with (total - good) / total, the second with (total - good - 1) / (total - 1). Or in "
        "one: math.comb(total - good, draws) / math.comb(total, draws).",
        "For the last question, try draws = 1, 2, 3, ... with your function.",
    ),
    why=lambda at: (
        f"{_near(at)} of {len(_costs()):,} are near. {BUDGET} draws find one with a probability of "
        f"{_chance(_near(at), len(_costs()), BUDGET):.1%}; one half takes {_half(at)} draws. Chance is no bad search "
        "where many configurations are good; here few are. It is the yardstick for every other search: one that is not "
        "better is not worth its code."
    ),
    variants={"percent": (20, 30, 40)},
)


# ------------------------------------------------------------------------------------------------ a model's ranks

#: Milliseconds of five candidates, and what a model thinks of them (higher is faster).
TIMES, SCORES = (4.0, 2.0, 5.0, 1.0, 3.0), (0.3, 0.9, 0.5, 0.8, 0.1)


def _kendall(scores: Any, times: Any) -> Any:
    good = bad = 0
    for i in range(len(scores)):
        for j in range(i):
            sign = (scores[i] - scores[j]) * (times[j] - times[i])
            good += sign > 0
            bad += sign < 0
    return (good - bad) / (good + bad)


def _of_pairs(scores: Any, times: Any) -> float:
    good, bad = pairs_in_order(np.asarray(scores, np.float64), -np.asarray(times, np.float64))
    return (good - bad) / (good + bad)


def _share_in_order() -> float:
    good, bad = pairs_in_order(np.asarray(SCORES), -np.asarray(TIMES))
    return good / (good + bad)


@cache
def _sample(every: int) -> tuple[tuple[dict[str, Any], float], ...]:
    """Some of the A100's configurations with their seconds."""
    records = machine("a100").log.records
    ok = records[records["status"] == "ok"].iloc[::every]
    return tuple(zip(ok["params"], ok["cost_s"].astype(float), strict=True))


def model(params: dict[str, Any]) -> float:
    """Return what a model of two sentences thinks: shared memory first, then as much work for a thread as possible."""
    return float(100 * params["use_shmem"] + params["tile_size_x"] * params["tile_size_y"])


_SHORT = ((SCORES, TIMES), ((1, 2, 3), (3, 2, 1)), ((1, 2, 3), (1, 2, 3)), ((1, 1, 2, 3), (5, 4, 4, 1)))


def _models(at: Setting) -> Iterator[Case]:
    """What two models think of some configurations of the A100, and the times of these."""
    costs = [cost for _, cost in _sample(20)]
    for name, scorer in (("the model of the notebook", model), ("the number of threads as a model", _threads)):
        scores = [scorer(params) for params, _ in _sample(20)]
        yield (scores, costs), _of_pairs(scores, costs), f"{name} on {len(costs)} configurations of the A100"


def _threads(params: dict[str, Any]) -> float:
    return float(params["block_size_x"] * params["block_size_y"])


def _best_is_among(count: int) -> bool:
    """Whether the optimum is among those that the model thinks best; equal ones in the order of the log."""
    some = _sample(1)
    order = np.argsort([-model(params) for params, _ in some], kind="stable")
    return int(np.argmin([cost for _, cost in some])) in order[:count]


RANK = Exercise(
    name="rank",
    title="A model only has to rank",
    task=f"A cost model gives each candidate a score, higher for what it thinks faster; only the best-scored ones are "
    f"measured. Kendall's rank correlation compares all pairs: the share that is in the right order, minus the share "
    f"in the wrong one. Five candidates take {', '.join(f'{t:g}' for t in TIMES)} ms; the model's scores are "
    f"{', '.join(f'{s:g}' for s in SCORES)}. What is the rank correlation of score and speed?\n\n"
    "On the A100 the notebook's model of two sentences (shared memory first, then much work for each thread) is "
    f"better than guessing. Is the optimum among the {BUDGET} configurations that it scores best?\n\n"
    "Write kendall(scores, times): (right pairs - wrong pairs) / (right pairs + wrong pairs). A pair is right when the "
    "higher score takes less time; pairs that are equal in one of both do not count.",
    predictions=(
        Prediction(
            "tau",
            "What is the rank correlation of score and speed?",
            _of_pairs(SCORES, TIMES),
            misconceptions=(
                Misconception(-_of_pairs(SCORES, TIMES), "You have compared with the time. Fast is a small time."),
                Misconception(_share_in_order(), "That is the share of pairs in the right order. Take off the wrong."),
                Misconception(
                    spearman(SCORES, [-t for t in TIMES]) or 0.0,
                    "That is Spearman's, the correlation of the ranks. Kendall's counts pairs.",
                ),
            ),
        ),
        Prediction(
            "among",
            f"Is the optimum among the {BUDGET} that the model scores best?",
            lambda at: "yes" if _best_is_among(BUDGET) else "no",
            choices=("yes", "no"),
            misconceptions=(
                Misconception(
                    lambda at: "no" if _best_is_among(BUDGET) else "yes",
                    "A rank correlation is about all pairs. Which of them decide about the top?",
                ),
            ),
        ),
    ),
    work=Function("kendall", _kendall),
    goals=(
        right_for(
            "It is right for short lists, one of them with equal values.",
            [((list(scores), list(times)), _of_pairs(scores, times)) for scores, times in _SHORT],
            within=1e-9,
        ),
        right_for("It is right for two models on the A100.", _models, within=1e-9),
    ),
    hints=(
        "Ten pairs. A pair is right when one has the higher score and the smaller time.",
        "Two loops over i and j < i; the sign of (scores[i] - scores[j]) * (times[j] - times[i]) says it.",
        "Sort the configurations by the model and look where the optimum stands.",
    ),
    why="A model's numbers need not be times: only their order is used. Most pairs are between middling "
    "configurations; a model can have them right and the top wrong. So a search measures some that the model does not "
    "favour, and the model learns from each round.",
)

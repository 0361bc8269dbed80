"""The exercise on trials: which task gets the next round, on a table of recorded latencies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from workbench.graph import extract_tasks
from workbench.labs.catalog.networks.residual import kernels_of, optimised
from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Prediction, Setting

#: Task -> (weight, microseconds of its best kernel after each round of four trials), as `wb.tune` recorded it for the
#: network with n = 64 and 32 channels on one thread of an Intel Xeon with AVX-512, each task in turn. A task whose list
#: ends early gains nothing in the rounds after it.
RECORDED: dict[str, tuple[int, tuple[float, ...]]] = {
    "stem": (1, (48.8, 45.9, *[45.9] * 5, 45.2, 45.2, 45.2, *[45.1] * 3, 44.2, 44.2, 44.1, 43.2, *[40.9] * 3)),
    "3x3 32→32, relu": (3, (540.9, *[528.6] * 5, *[508.6] * 2, 496.6, *[489.7] * 5, 468.8, *[451.3] * 2, *[403.6] * 3)),
    "3x3 32→32, add, relu": (3, (562.5, *[535.1] * 7, 530.8, *[507.5] * 2, 506.9, 490.5, *[474.4] * 3, *[447.0] * 4)),
    "3x3/2 32→64, relu": (1, (426.7, 407.2, *[401.1] * 7, *[391.4] * 11)),
    "1x1/2 32→64": (1, (48.1, *[46.0] * 19)),
    "3x3 64→64, add, relu": (2, (522.3, *[485.3] * 5, *[470.5] * 3, *[465.6] * 2, 462.0, *[424.9] * 7)),
    "3x3 64→64, relu": (1, (553.6, *[483.4] * 3, *[466.6] * 2, *[448.0] * 10, *[428.8] * 3)),
    "pool": (1, (1.5,) * 5),
    "last": (1, (0.1,) * 2),
}
WEIGHTS = tuple(weight for weight, _ in RECORDED.values())
#: Another network of the same kernels, in which the second stage is the long one.
OTHER = (1, 1, 1, 1, 1, 5, 5, 1, 1)
BUDGET = 60
#: Share of what can be saved over taking turns that has to be saved.
SHARE = 0.6
_SMALL = (7, 8)


def replay(choose: Any, weights: Sequence[int] = WEIGHTS, budget: int = BUDGET) -> tuple[float, list[int]]:
    """Give rounds to the recorded tasks as `choose(weights, best)` says.

    Returns
    -------
    microseconds : float
        Of the network: the sum of weight times best latency.
    rounds : list of int
        That each task got, its first one included.
    """
    known = [list(ms[:1]) for _, ms in RECORDED.values()]
    for _ in range(budget - len(known)):
        k = int(choose(list(weights), [list(best) for best in known]))
        if not 0 <= k < len(known):
            raise ValueError(f"There is no task {k}; they are 0 to {len(known) - 1}")
        recorded = list(RECORDED.values())[k][1]
        known[k].append(recorded[min(len(known[k]), len(recorded) - 1)])
    return sum(w * best[-1] for w, best in zip(weights, known, strict=True)), [len(best) for best in known]


def in_turn(weights: Sequence[int], best: Sequence[Sequence[float]]) -> int:
    """Choose the task that had the fewest rounds."""
    return min(range(len(weights)), key=lambda k: len(best[k]))


def least(weights: Sequence[int] = WEIGHTS, budget: int = BUDGET) -> float:
    """Return the least microseconds that any division of the budget reaches, which only who has the table can know."""
    reached = {0: 0.0}
    for weight, (_, recorded) in zip(weights, RECORDED.values(), strict=True):
        now: dict[int, float] = {}
        for used, total in reached.items():
            for k, best in enumerate(recorded[: budget - used], 1):
                now[used + k] = min(now.get(used + k, float("inf")), total + weight * best)
        reached = now
    return min(reached.values())


def _choose(weights: Any, best: Any) -> Any:
    expected = [w * b[-1] / len(b) for w, b in zip(weights, best, strict=True)]
    return expected.index(max(expected))


def _saves(weights: tuple[int, ...]) -> Callable[[Any, Setting], tuple[bool, str]]:
    def reached(choose: Any, at: Setting) -> tuple[bool, str]:
        found, turns, best = replay(choose, weights)[0], replay(in_turn, weights)[0], least(weights)
        share = (turns - found) / (turns - best)
        return share >= SHARE, (
            f"After {BUDGET} rounds the network takes {found:,.0f} µs; in turn {turns:,.0f}, at best {best:,.0f}. "
            f"So {share:.0%} of what can be saved is saved."
        )

    return reached


def _weighs(choose: Any, at: Setting) -> tuple[bool, str]:
    for often in (0, 1):
        weights, best = [6 if k == often else 1 for k in range(2)], [[100.0, 90.0, 90.0], [100.0, 90.0, 90.0]]
        if int(choose(weights, best)) != often:
            return False, f"Of two tasks with the same times and the weights {weights} it chooses the rarer one."
    return _saves(OTHER)(choose, at)


def _wastes_none(choose: Any, at: Setting) -> tuple[bool, str]:
    rounds = replay(choose)[1]
    small = sum(rounds[k] for k in _SMALL)
    return small <= 4, f"Of {BUDGET} rounds {small} went to pool and last, which take 1.6 of more than 4,000 µs."


def _first_share(weighted: bool = True, names: tuple[str, ...] = ("3x3 32→32, relu", "3x3 32→32, add, relu")) -> float:
    time = {name: (w if weighted else 1) * ms[0] for name, (w, ms) in RECORDED.items()}
    return 100 * sum(time[name] for name in names) / sum(time.values())


@cache
def _counts() -> tuple[int, int]:
    """Tasks and kernels of the network."""
    graph = optimised(64, 32)
    return len(extract_tasks(graph)), len(kernels_of(graph))


TRIALS = Exercise(
    name="trials",
    title="Who gets the next trials",
    task="Kernels with the same operators, sizes and strides are one task, whichever constants they read. The weight "
    "of a task says how many kernels of the network it stands for. How many tasks does the fused network have? Which "
    "weight has the 3x3 convolution of the first stage with a ReLU and no Add?\n\n"
    "The notebook's RECORDED is of the largest network of this lab, whatever yours is: images of 64 x 64, 32 channels "
    "in the first stage and 64 in the second. It has, for each task, its weight and the microseconds of its best "
    "kernel after each round of four trials, as a tuner recorded them. Which share of that network's time do its two "
    "3x3 tasks of the first stage (32→32) have after one round each?\n\n"
    "Write choose(weights, best): the position of the task that gets the next round. best[k] is a list of what was "
    "the best latency of task k after each of its rounds; each has had one. You do not see what a further round "
    f"would give. {BUDGET} rounds are played in all; what counts is the sum of weight times latency.",
    predictions=(
        Prediction(
            "tasks",
            "How many tasks does the fused network have?",
            lambda at: _counts()[0],
            "tasks",
            (
                Misconception(lambda at: _counts()[1], "That is the number of kernels. Which of them are alike?"),
                Misconception(lambda at: _counts()[0] - 2, "Those without a convolution are tasks, too."),
                Misconception(
                    lambda at: _counts()[0] - 1,
                    "With an Add and without one, with a stride and without one: these are different tasks.",
                ),
                Misconception(
                    lambda at: _counts()[0] + 1,
                    "Blocks four and five end alike: a 3x3 convolution of the second stage, an Add and a ReLU.",
                ),
            ),
            within=0,
        ),
        Prediction(
            "weight",
            "Which weight has the first stage's 3x3 convolution with a ReLU and no Add?",
            3,
            misconceptions=(
                Misconception(5, "Each block has one. Do all of them have the same channels and the same stride?"),
                Misconception(6, "Those that end a block add something: another task."),
                Misconception(4, "The stem has three input channels, block four another stride: other tasks."),
                Misconception(1, "It occurs once in each block of the stage."),
            ),
            within=0,
        ),
        Prediction(
            "share",
            "Which share of the recorded network's time have the two tasks 3x3 32→32, after one round each?",
            lambda at: _first_share(),
            "%",
            (
                Misconception(lambda at: _first_share(weighted=False), "Each of them runs three times."),
                Misconception(lambda at: 100 - _first_share(), "That is the share of the others."),
                Misconception(lambda at: _first_share(names=("3x3 32→32, add, relu",)), "That is one of the two."),
            ),
        ),
    ),
    work=Function("choose", _choose),
    goals=(
        Goal(f"It saves at least {SHARE:.0%} of what can be saved over taking turns.", _saves(WEIGHTS)),
        Goal("It does so with other weights, too, and takes the one that occurs oftener of two like tasks.", _weighs),
        Goal("Pool and last get 4 rounds at most.", _wastes_none),
    ),
    hints=(
        "What could a round save at most in the network? Not more than weight times latency.",
        "The more rounds a task has had, the less one more will give. Try weight times latency over rounds.",
        "best[k][-1] is the latency of task k now, len(best[k]) its rounds.",
    ),
    why="A scheduler bets on weight times what a round may save. Who looks only at the last gain stays with whoever "
    "had luck, and gives up a task after one bad round: in the table, five rounds without a gain are common before "
    "the next. The workbench's own adds the recent gains, and what similar tasks have reached.",
)

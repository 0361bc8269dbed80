"""Exercise on two recorded machines: a search of one's own."""

from __future__ import annotations

from typing import Any

from workbench.labs.catalog.search.recorded_runs import BUDGET, machine
from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Prediction, Setting

#: Seeds of the runs that are judged; the notebook has others.
SEEDS = range(100, 125)


def _climb(space: Any, measure: Any, rng: Any) -> Any:
    while True:
        drawn = [space.draw(rng) for _ in range(8)]
        costs = [measure(params) for params in drawn]
        cost = min(costs)
        here = drawn[costs.index(cost)]
        better = True
        while better:
            better = False
            near = space.neighbours(here)
            for k in rng.permutation(len(near)):
                found = measure(near[k])
                if found < cost:
                    here, cost, better = near[k], found, True
                    break


def _around(at: Setting) -> int:
    space = machine("a100").space
    return len(space.neighbours(space[at["start"]]))


def _changes() -> int:
    """Changes of one parameter, if every one of them were allowed."""
    return sum(len(values) - 1 for values in machine("a100").space.params.values())


#: Mean score on both machines; chance has 0, and came to 0.04 at most in five times so many runs.
LEAST = 0.1


def _beats(search: Any, at: Setting) -> tuple[bool, str]:
    scores = {}
    for name in ("a100", "a4000"):
        runs = machine(name).simulate(search, budget=BUDGET, seeds=SEEDS)
        if runs.empty:
            return False, "Your search measures nothing."
        scores[name.upper()] = machine(name).score(runs)
    told = " and ".join(f"{score:.2f} on the {name}" for name, score in scores.items())
    mean = sum(scores.values()) / len(scores)
    return mean >= LEAST, f"The score is {told}, so {mean:.2f} on both; {LEAST:g} is wanted, chance has 0."


def _spends(search: Any, at: Setting) -> tuple[bool, str]:
    first, second = (machine("a100").simulate(search, budget=BUDGET, seeds=[3, 4]) for _ in range(2))
    short = first.groupby("seed").size()
    if len(short) < 2 or short.min() < BUDGET:
        done = 0 if len(short) < 2 else int(short.min())
        return False, f"A run ended after {done} of {BUDGET} evaluations: go on from somewhere else."
    same = first["record"].tolist() == second["record"].tolist()
    return same, "The same seed finds the same." if same else "The same seed went another way: draw from rng only."


SEARCH = Exercise(
    name="search",
    title="A search that beats chance",
    task=lambda at: (
        "The search in the notebook climbs: from anywhere to the best neighbour (a configuration that differs in one "
        "parameter), as long as that is faster. It measures all neighbours before each step. How many neighbours has "
        f"space[{at['start']}] of the A100? Which share of a budget of {BUDGET} is spent when the search has measured "
        "that configuration and all its neighbours?\n\n"
        "Write search(space, measure, rng), which goes on until it is ended. space.draw(rng) is a configuration, "
        "space.neighbours(params) are those around it, measure(params) its time in seconds (infinite where it fails). "
        "The score is 0 for chance and 1 for the optimum at once. Be better than chance on the A100, and on an A4000."
    ),
    predictions=(
        Prediction(
            "around",
            lambda at: f"How many neighbours has space[{at['start']}] of the A100?",
            _around,
            "neighbours",
            (
                Misconception(
                    lambda at: _changes(), "That is how many changes of one parameter there are. Not all are allowed."
                ),
                Misconception(
                    lambda at: len(machine("a100").space.params), "A parameter can change to more than one other value."
                ),
                Misconception(
                    lambda at: len(machine("a100").space),
                    "These are all configurations; take what space.neighbours says.",
                ),
            ),
            within=0,
        ),
        Prediction(
            "spent",
            f"Which share of the budget of {BUDGET} is spent after it and all its neighbours?",
            lambda at: 100 * (_around(at) + 1) / BUDGET,
            "%",
            (
                Misconception(lambda at: 100 * _around(at) / BUDGET, "The first configuration is measured, too."),
                Misconception(
                    lambda at: 100 * (_around(at) + 1) / len(machine("a100").space),
                    "That is the share of the space. Asked for is the share of the budget.",
                ),
            ),
        ),
    ),
    work=Function("search", _climb),
    goals=(
        Goal("It uses its whole budget, and the same seed finds the same.", _spends),
        Goal(
            f"The mean of its scores on the A100 and the A4000 is at least {LEAST:g} ({len(SEEDS)} runs of {BUDGET} "
            "evaluations each, other seeds than the notebook's).",
            _beats,
            points=2,
        ),
    ),
    hints=(
        "Do not look at all neighbours: go to the first that is faster.",
        "Where a climb begins matters: draw eight, and climb from the fastest of them. Draw again when no neighbour is "
        "faster.",
        "Try neighbours in a drawn order: for k in rng.permutation(len(near)). The first parameter's values come first "
        "otherwise, and there are sixteen of them.",
    ),
    why="A step that costs half of the budget is taken once. To go to the first faster neighbour costs a few "
    "evaluations a step, so the same budget climbs higher; several draws first choose the hill. What was tuned on one "
    "device has to show on another that it was not fitted to the first: that is why there are two, and other seeds.",
    variants={"start": (0, 700, 2100)},
)

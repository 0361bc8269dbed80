"""Exercises on sketches: count what one stands for, read which rules made it, mend a rule that leaves forms out."""

from __future__ import annotations

from itertools import product
from math import comb, prod
from typing import Any

import workbench
from workbench import markup
from workbench.ir import Func
from workbench.labs.exercise import Exercise, Function, Goal, Misconception, Prediction, Setting
from workbench.labs.goals import right_for
from workbench.machine_model.machine_parameters import Machine
from workbench.space.sketch import Draft, Rule
from workbench.space.space import Space, make_space
from workbench.workloads import matmul, softmax

#: As a notebook has it: solutions are shown to students.
wb: Any = workbench

# ------------------------------------------------------------------------------------------------ one sketch


def _power(at: Setting) -> int:
    """Return the power of two that n is."""
    return at["n"].bit_length() - 1


def _ways(extent: Any, parts: Any) -> Any:
    if parts == 1:
        return 1
    return sum(_ways(extent // d, parts - 1) for d in range(1, extent + 1) if extent % d == 0)


def _tried(extent: int, parts: int) -> int:
    """The same, by trying all tuples of divisors."""
    divisors = [d for d in range(1, extent + 1) if extent % d == 0]
    return sum(prod(each) == extent for each in product(divisors, repeat=parts))


_SMALL = ((1, 3), (7, 2), (12, 2), (12, 3), (36, 4), (60, 3))


SKETCH = Exercise(
    name="sketch",
    title="What one sketch stands for",
    task=lambda at: (
        f"A sketch is a schedule whose numbers are left open: Ansor's word for a structure without sizes. For a "
        f"product of {at['n']} x {at['n']} matrices the rule tile makes levels: each S is a loop over every axis of "
        "the result (i and j), each R one over the axis of the sum (k). With SSRS the notebook shows the nest.\n\n"
        "How many loops has SSRSRS? With SSRS, i is split into three factors: whole numbers whose product is "
        f"{at['n']}; 1 is allowed, and the order matters. In how many ways? And a limit in the space's explanation "
        "keeps the register tile small: what is the largest i_2 that it allows where j_2 is two vectors?\n\n"
        "Write ways(extent, parts): in how many ways an extent is a product of so many factors, the order counts."
    ),
    predictions=(
        Prediction(
            "loops",
            "How many loops has the nest of SSRSRS?",
            10,
            "loops",
            (
                Misconception(6, "A level has a loop for every axis of its kind, and there are two axes in S."),
                Misconception(18, "i and j have no loop in R, and k has none in S."),
                Misconception(12, "Levels S come with two loops each. With how many comes R?"),
                Misconception(7, "That is SSRS."),
            ),
            within=0,
        ),
        Prediction(
            "ways",
            lambda at: f"In how many ways can i = {at['n']} be split into three factors?",
            lambda at: comb(_power(at) + 2, 2),
            "ways",
            (
                Misconception(
                    lambda at: _power(at) + 1,
                    "That is the number of divisors: the choices for one of the three factors.",
                ),
                Misconception(
                    lambda at: (_power(at) + 1) ** 2,
                    "Not every pair of divisors leaves a whole number for the third factor.",
                ),
                Misconception(lambda at: _power(at), "Count the twos in n: they are put into three boxes."),
            ),
            within=0,
        ),
        Prediction(
            "tall",
            "What is the largest i_2 that the limit allows where j_2 is two vectors (whether it divides n or not)?",
            lambda at: (at.registers - 3) // 2,
            "rows",
            (
                Misconception(
                    lambda at: (at.registers - 1) // 2, "The operand has a term of its own in the limit: - j_2."
                ),
                Misconception(lambda at: at.registers // 2, "The tile does not get all registers: read the limit."),
                Misconception(lambda at: (at.registers - 3) // 2 + 1, "With that one the limit is below 0."),
            ),
            within=0,
        ),
    ),
    work=Function("ways", _ways),
    goals=(
        right_for("It is right for small extents.", [(case, _tried(*case)) for case in _SMALL]),
        right_for(
            "It is right for large powers of two.",
            [((2**power, parts), comb(power + parts - 1, parts - 1)) for power, parts in ((8, 3), (9, 4), (11, 4))],
        ),
    ),
    hints=(
        "Six letters: four times S with two loops each, twice R with one.",
        "Choose the first factor d among the divisors; what is left is ways(extent // d, parts - 1).",
        "The limit is about lanes: put j_2 = 2 * lanes into it and solve for i_2.",
    ),
    why=lambda at: (
        f"SSRSRS has 4 x 2 + 2 x 1 = 10 loops. {at['n']} is two to the power of {_power(at)}; the twos go into three "
        f"factors in {comb(_power(at) + 2, 2)} ways. The limit divided by j_2 leaves i_2 at most "
        f"{(at.registers - 3) // 2}: one register stays free, one row of vectors is the operand. A few letters stand "
        "for thousands of programs, and a limit removes those that cannot be fast."
    ),
    variants={"n": (256, 128, 512)},
)


# ------------------------------------------------------------------------------------------------ which rules


def _fired(space: Any) -> Any:
    found: dict[str, set[int]] = {}
    for record in space.rules():
        if record.fired:
            found.setdefault(record.rule, set()).update(record.variants)
    return {rule: len(variants) for rule, variants in found.items()}


def _noted(space: Space) -> dict[str, int]:
    """The same from the notes of each variant."""
    every = [{note.rule for note in v.notes if note.fired} for v in space.variants]
    return {rule: sum(rule in one for one in every) for rule in set().union(*every)}


def _reads(funcs: dict[str, Func]) -> Goal:
    """The goal that what fired is right in the spaces of functions, by their descriptions."""

    def reached(fired: Any, at: Setting) -> tuple[bool, str]:
        for what, func in funcs.items():
            space = make_space(func, at.target)
            found, right = fired(space), _noted(space)
            if not isinstance(found, dict):
                return False, f"For {what} your function gives {found!r}, which is no dict."
            for rule in sorted({*right, *found}, key=str):
                if found.get(rule, 0) != right.get(rule, 0):
                    told = f"its records that fired name {markup.plural(right.get(rule, 0), 'variant')} in all"
                    return False, f"For {what} your function has {found.get(rule, 'nothing')} for {rule}; {told}."
        return True, f"It is right for {' and '.join(funcs)}."

    return Goal(f"It is right for {' and '.join(funcs)}.", reached)


RULES = Exercise(
    name="rules",
    title="Which rules have made it",
    task="The product is now followed by two stages: a bias is added, then what is negative becomes 0 (relu). Each "
    "rule looks at each stage and says what it did, or why it did nothing. Three rules are for stages that only work "
    "on single elements: inline writes the stage into the one that reads it; fuse moves it inside the loops of the "
    "product, behind each finished tile; pointwise gives it a nest of its own. Rules are asked in this order. Which "
    "one takes the bias, which one relu? Say it first, then look.\n\n"
    "Write fired(space), which reads space.rules(): a dict from the name of each rule that did something "
    "(record.fired) to the number of variants in which it did (record.variants has their numbers).",
    predictions=(
        Prediction(
            "bias",
            "Which rule takes the stage that adds the bias?",
            "inline",
            choices=("inline", "fuse", "pointwise"),
            misconceptions=(
                Misconception("fuse", "An earlier rule is asked first. Who reads the bias's result?"),
                Misconception("pointwise", "A nest of its own would bring all of C from memory once more."),
            ),
        ),
        Prediction(
            "relu",
            "Which rule takes relu?",
            "fuse",
            choices=("inline", "fuse", "pointwise"),
            misconceptions=(
                Misconception("inline", "There is no later stage into which relu could be written: it is the result."),
                Misconception("pointwise", "It would wait until all of C is done. It only needs a finished tile."),
            ),
        ),
    ),
    work=Function("fired", _fired),
    goals=(
        _reads({"the product with bias and relu": matmul(192, 192, 192, bias=True, relu=True)}),
        _reads({"a product alone": matmul(256, 256, 256), "a softmax": softmax(64, 512)}),
    ),
    hints=(
        "pandas.DataFrame(space.rules()) shows the columns: block, rule, fired, reason, variants.",
        "A rule can have several records, for other blocks or other reasons. Collect the numbers of variants in a set "
        "for each rule; the answer is how many a set has.",
    ),
    why="The bias is pointwise and only relu reads it: inlined. Then relu alone reads what the product writes, element "
    "by element, so it takes each finished tile while it is in cache. A reason why a rule did nothing is as useful: it "
    "says what to change so that it does.",
)


# ------------------------------------------------------------------------------------------------ a rule that forgets


def _unroll_sum(draft: Any, machine: Any) -> Any:
    s = draft.schedule.copy()
    _, inner = s.split("k", [None, wb.Hole(choices=[2, 4, 8])])
    s.unroll(inner)
    return [
        draft.skip("unroll_sum", "this form keeps the sum as it is"),
        draft.change("unroll_sum", "some steps of the sum at a time", s, tag="sum in steps"),
    ]


def _space_with(function: Any, k: int, at: Setting) -> tuple[Space, list[str]]:
    """The space of a product whose sum has k terms, with one more rule; and what went wrong with that."""
    told: list[str] = []
    unwritten: list[NotImplementedError] = []

    def noted(draft: Draft, machine: Machine) -> Any:
        try:
            return function(draft, machine)
        except NotImplementedError as error:  # which a space would take for a rule that fails
            unwritten.append(error)
            raise

    rules = ["tile", "mark", Rule("unroll_sum", "", noted, "tile", custom=True)]
    space = make_space(matmul(192, 192, k), at.target, structure="SSRS", rules=rules, tell=told.append)
    if unwritten:
        raise unwritten[0]
    return space, told


def _steps(space: Space) -> set[int]:
    """Numbers of steps of the sum that some row has unrolled; 1 where a form leaves the sum as it is."""
    found: set[int] = set()
    for variant in space.variants:
        loops = variant.schedule.func.block("C")[1]
        unrolled = [lp.extent for lp in loops if lp.name.startswith("k") and lp.kind == "unroll"]
        for extent in unrolled:
            for group in variant.sampler.domain.groups:
                if str(extent) in group.holes:
                    found |= {int(n) for n in group.table[:, group.holes.index(str(extent))]}
            found |= {extent} if isinstance(extent, int) else set()
        found |= set() if unrolled else {1}
    return found


def _offers(k: int, wanted: set[int], text: str) -> Goal:
    def reached(unroll_sum: Any, at: Setting) -> tuple[bool, str]:
        space, told = _space_with(unroll_sum, k, at)
        if told:
            return False, f"With a sum of {k} terms {told[0]}."
        found = _steps(space)
        shown = ", ".join(map(str, sorted(found)))
        return wanted <= found, f"With a sum of {k} terms the space has forms with so many steps at a time: {shown}."

    return Goal(text, reached)


def _keeps(unroll_sum: Any, at: Setting) -> tuple[bool, str]:
    space, told = _space_with(unroll_sum, 192, at)
    found = _steps(space)
    if told or found == {1}:
        return False, f"The rule makes nothing of its own: {told[0] if told else 'all sums are as they were'}."
    return 1 in found, f"The form whose sum is as it was is {'still there' if 1 in found else 'gone'}."


REPAIR = Exercise(
    name="repair",
    title="Repair: a rule that forgets",
    task="Somebody has written a rule that takes four steps of the sum at a time and unrolls them. It runs, the space "
    "gets no error, and yet something is missing: what a rule leaves out, no search finds. "
    "The rule forgets two things: it replaces the form that was there, so that nothing is left to compare with; and it "
    "chooses the number of steps itself, though nobody has measured that four is best.\n\n"
    "How many variants has the space of the notebook with that rule? (SSRS; the rules are tile, mark and this one; "
    "without it there is one.) And what happens with a sum of 62 terms, which four does not divide?\n\n"
    "Write unroll_sum(draft, machine) so that the form as it is stays, and that 2, 4 or 8 steps are for the search to "
    "choose, wherever they divide the sum.",
    predictions=(
        Prediction(
            "variants",
            "How many variants has the space with the broken rule?",
            1,
            "variants",
            (
                Misconception(2, "What does the rule give back: the draft that it got as well?"),
                Misconception(0, "What it makes is legal for 192 terms, and so a variant."),
                Misconception(4, "Four is the number of steps, not of drafts that the rule gives back."),
            ),
            within=0,
        ),
        Prediction(
            "odd",
            "What becomes of the space with the broken rule where the sum has 62 terms?",
            "the rule is left out",
            choices=("the rule is left out", "no space", "a wrong result"),
            misconceptions=(
                Misconception("no space", "A step that is refused costs what the rule would have made, no more."),
                Misconception(
                    "a wrong result", "A primitive refuses what is not legal; nothing that it made can be wrong."
                ),
            ),
        ),
    ),
    work=Function("unroll_sum", _unroll_sum),
    goals=(
        Goal("The form whose sum is as it was stays in the space.", _keeps),
        _offers(192, {2, 4, 8}, "With a sum of 192 terms there are forms with 2, 4 and 8 steps."),
        _offers(62, {1, 2}, "With a sum of 62 terms there are forms with the sum as it is and with 2 steps."),
    ),
    hints=(
        "A rule may return a list: draft.skip(name, reason) is the draft as it is, draft.change(name, reason, s) one "
        "with the schedule s.",
        'wb.Hole(choices=[2, 4, 8]) stands where a number would: s.split("k", [None, wb.Hole(choices=[2, 4, 8])]).',
    ),
    why="A rule returns all forms that are worth trying, and leaves numbers open. Sizes that do not divide drop out by "
    "themselves: for 62 terms only 2 is left of the hole. The space grows by a factor, which is the price: a rule that "
    "never wins costs trials.",
)

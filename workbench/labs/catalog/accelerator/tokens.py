"""Exercise on tokens: what three engines say to each other, and what becomes of a program that says too little."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import TypeAlias

from workbench.codegen.vta.nests import program_of
from workbench.codegen.vta.simulator import simulate
from workbench.errors import RunFailure
from workbench.labs.catalog.accelerator.machine import VTA, cut, placed
from workbench.labs.exercise import Exercise, Function, Misconception, Prediction, Setting
from workbench.labs.goals import Case, right_for

#: Engine, the engines that it waits for a token of, and those that it gives one to.
Step: TypeAlias = tuple[str, tuple[str, ...], tuple[str, ...]]

_LOAD, _USE = ("load", (), ("compute",)), ("compute", ("load",), ("load",))
_STORE = ("store", ("compute",), ("compute",))
#: Small programs and what becomes of them.
SMALL: tuple[tuple[list[Step], str], ...] = (
    ([], "runs"),
    ([_LOAD, ("compute", ("load",), ())], "runs"),
    ([("compute", ("load",), ()), _LOAD], "runs"),
    ([_LOAD, _USE], "left"),
    ([("load", (), ()), ("compute", ("load",), ())], "waits"),
    ([_LOAD, _USE, ("load", ("compute",), ("compute",)), ("compute", ("load",), ())], "runs"),
    ([("load", ("compute",), ("compute",)), ("compute", ("load",), ("load",))], "waits"),
    ([_LOAD, ("compute", ("load",), ("store",)), ("store", ("compute",), ())], "runs"),
    ([_LOAD, ("compute", ("load",), ("store",)), _STORE], "left"),
    ([_LOAD, ("compute", ("load",), ("store",)), _STORE, ("compute", ("store",), ())], "runs"),
    ([_LOAD, _LOAD, ("compute", ("load",), ())], "left"),
    ([_LOAD, ("compute", ("load",), ()), ("compute", ("load",), ())], "waits"),
    ([_LOAD, ("store", ("compute",), ()), ("compute", ("load", "store"), ("store",))], "waits"),
    # A token of another sender is no use, and an engine takes its instructions in order.
    ([("store", (), ("compute",)), ("compute", ("load",), ())], "waits"),
    ([("compute", ("load",), ()), ("compute", (), ("load",)), ("load", ("compute",), ("compute",))], "waits"),
)


def outcome(instructions):  # type: ignore[no-untyped-def]  # a student's function has no types either
    """Say whether a program "runs", "waits" for ever, or runs with tokens "left" at its end."""
    todo = {engine: [i for i in instructions if i[0] == engine] for engine in ("load", "compute", "store")}
    tokens = {(a, b): 0 for a in todo for b in todo}
    moved = True
    while moved:
        moved = False
        for engine, waiting in todo.items():
            if waiting and all(tokens[other, engine] for other in waiting[0][1]):
                _, pops, pushes = waiting.pop(0)
                for other in pops:
                    tokens[other, engine] -= 1
                for other in pushes:
                    tokens[engine, other] += 1
                moved = True
    if any(todo.values()):
        return "waits"
    return "left" if any(tokens.values()) else "runs"


@cache
def left_out() -> tuple[Case, ...]:
    """Return the program of a small product, and the same with one token left out, as the simulator judges them."""
    return tuple(_left_out())


def _left_out() -> Iterator[Case]:
    whole = program_of(placed(cut((32, 2, 4), 1, shape=(64, 64, 128))).func, VTA)
    yield ([(i.engine, i.pops, i.pushes) for i in whole.instructions],), "runs", "the whole program"
    for k, i in enumerate(whole.instructions):
        for field in ("pops", "pushes"):
            if not getattr(i, field):
                continue
            less = replace(i, **{field: getattr(i, field)[1:]})
            changed = replace(whole, instructions=(*whole.instructions[:k], less, *whole.instructions[k + 1 :]))
            try:
                simulate(changed)
            except RunFailure as error:
                found = {"vta.deadlock": "waits", "vta.tokens": "left"}.get(error.code)
                if found:  # a race is another matter
                    steps = [(j.engine, j.pops, j.pushes) for j in changed.instructions]
                    yield (steps,), found, f"the program without {field}[0] of instruction {k}"


def _small(at: Setting) -> Iterator[Case]:
    for program, found in SMALL:
        yield (list(program),), found


TOKENS = Exercise(
    name="tokens",
    title="Tokens",
    task="Load, compute and store run side by side, each its own instructions in order. They wait for each other by "
    "tokens: an instruction *pops* a token of each neighbour that it has to wait for before it begins, and *pushes* "
    "one to each neighbour that waits for it when it ends. Neighbours are load and compute, and compute and store. A "
    "token that nobody pushes lets an engine wait for ever; one that nobody pops is left at the end, and the next "
    "program begins with it.\n\n"
    "How many queues of tokens are there, one for each direction between neighbours? A load brings the next tile to "
    "where the product still reads the last one. Whose token does it have to wait for? A load pushes a token for a "
    "product; after it, a second load pushes another one. What can the product do after one pop?\n\n"
    "Then write outcome(instructions). Each instruction is a tuple: its engine, the engines that it pops a token of, "
    "and those that it pushes one to, such as ('compute', ('load',), ('load', 'store')). Engines run as far as they "
    "can. The function returns 'runs', 'waits' where an engine never comes to its end, or 'left' where all do and "
    "tokens are left.",
    predictions=(
        Prediction(
            "queues",
            "How many queues of tokens are there?",
            4,
            misconceptions=(
                Misconception(2, "Each pair of neighbours has a queue for each direction."),
                Misconception(3, "That is how many engines there are. Who talks to whom, in which direction?"),
                Misconception(6, "Load and store are no neighbours."),
            ),
            within=0,
        ),
        Prediction(
            "over",
            "Whose token does a load wait for that writes over a tile?",
            "compute",
            choices=("load", "compute", "store"),
            misconceptions=(
                Misconception("load", "An engine runs its own instructions in order. Who still reads the tile?"),
                Misconception("store", "The store reads sums, and tiles of data lie in another memory."),
            ),
        ),
        Prediction(
            "one",
            "Load has pushed two tokens, and the product has popped one: what can it rely on?",
            "the first load",
            choices=("the first load", "both loads", "nothing"),
            misconceptions=(
                Misconception("both loads", "The second load may still be running when the first token is there."),
                Misconception("nothing", "Tokens come in order, and a load pushes when it has ended."),
            ),
        ),
    ),
    work=Function("outcome", outcome),
    goals=(
        right_for("Small programs are judged as they run.", _small),
        right_for(
            "A product's program is, also with one token left out.",
            lambda at: left_out(),
        ),
    ),
    hints=(
        "Keep a list of instructions for each engine, and a number of tokens for each pair (from, to).",
        "Go round: if the first instruction of an engine finds a token of all that it pops, take them, remove the "
        "instruction and add what it pushes. Stop when a round moves nothing.",
        "Instructions that are left mean 'waits'; otherwise tokens that are left mean 'left'.",
    ),
    why="The order in which engines are looked at makes no difference: a token that is there stays until its receiver "
    "takes it. So one run says what every run does, and the simulator finds a program that waits, whatever its cycles. "
    "What tokens cannot say is whether there are enough of them: two engines that touch one place without a token "
    "between them are a race, and the simulator looks for that by vector clocks.",
)

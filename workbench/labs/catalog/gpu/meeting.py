"""Exercise on barriers: where the threads of a block have to meet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from workbench.labs.exercise import Exercise, Function, Misconception, Prediction, Setting
from workbench.labs.goals import Case, right_for

#: "reads" or "writes", an array, and whose element of it: the thread's "own", or "another" one's.
Access: TypeAlias = tuple[str, str, str]

_W, _R, _O = ("writes", "tile", "own"), ("reads", "tile", "another"), ("reads", "tile", "own")
#: Statements of a block's threads, and before which of them barriers have to stand.
CASES: tuple[tuple[list[Access], list[int]], ...] = (
    ([], []),
    ([_W], []),
    ([_W, _O], []),
    ([_W, _R], [1]),
    ([_R, _R], []),
    ([_R, _W], [1]),
    ([_W, _R, _W], [1, 2]),
    ([_W, _R, _W, _R], [1, 2, 3]),
    ([_W, ("writes", "more", "own"), _R, ("reads", "more", "another")], [2]),
    ([_W, ("reads", "more", "another"), _O], []),
    ([_W, _R, ("writes", "more", "own"), ("reads", "more", "another")], [1, 3]),
    ([_W, ("writes", "tile", "another")], [1]),
    ([_W, ("writes", "more", "own"), ("reads", "more", "another"), _R], [2]),
    ([_W, _O, _O, _R, _O, _R], [3]),
    ([("reads", "tile", "another"), ("writes", "more", "own"), ("reads", "more", "own"), _W], [3]),
    ([("writes", "tile", "another"), _R], [1]),
    ([("writes", "tile", "another"), ("writes", "tile", "another")], [1]),
)


def barriers(statements):  # type: ignore[no-untyped-def]  # a student's function has no types either
    """Say before which statements barriers have to stand: as few as do, each as late as can be."""
    found: list[int] = []
    since: list[tuple[str, str, str]] = []
    for k, (verb, array, whose) in enumerate(statements):
        for before, same, of in since:
            if same == array and "writes" in (verb, before) and not whose == of == "own":
                found.append(k)
                since = []
                break
        since.append((verb, array, whose))
    return found


def _cases(at: Setting) -> Iterator[Case]:
    for statements, found in CASES:
        yield (list(statements),), found


def _round(at: Setting) -> Iterator[Case]:
    """Loops, written out: the end of an iteration meets the beginning of the next one."""
    step: list[Access] = [_W, ("writes", "more", "own"), _R, ("reads", "more", "another")]
    for times in (2, 3):
        yield (step * times,), [k for i in range(times) for k in ((4 * i,) if i else ()) + (4 * i + 2,)]
    alone: list[Access] = [_W, _O]
    yield (alone * 3,), []


MEET = Exercise(
    name="meet",
    title="Where threads meet",
    task="All threads of a block run the same statements, each at its own speed. An access is a tuple: 'reads' or "
    "'writes', the array, and whose element it is: the thread's 'own', or 'another' one's. Two accesses of one array "
    "are in conflict if one of them writes, unless both are of the thread's own element. Between two that are, there "
    "has to be a barrier.\n\n"
    "A block fetches a tile, and computes with it; then it fetches the next tile to the same place. Where is a barrier "
    "needed? A thread reads only what it has written itself: how many barriers? A barrier stands where only the "
    "threads with even numbers come: what happens?\n\n"
    "Then write barriers(statements), which returns the numbers (from 0 on) of the statements before which a barrier "
    "has to stand: as few as do, each as late as can be.",
    predictions=(
        Prediction(
            "where",
            "Where is a barrier needed?",
            "before and behind the computation",
            choices=("before the computation", "behind the computation", "before and behind the computation"),
            misconceptions=(
                Misconception("before the computation", "A fast thread may fetch what a slow one still reads."),
                Misconception("behind the computation", "What another thread fetches has to be there first."),
            ),
        ),
        Prediction(
            "own",
            "How many barriers, where a thread reads only what it has written?",
            0,
            misconceptions=(
                Misconception(1, "Who would have to wait for whom?"),
                Misconception(2, "Who would have to wait for whom?"),
            ),
            within=0,
        ),
        Prediction(
            "uneven",
            "What happens at a barrier to which only some threads come?",
            "they wait for ever",
            choices=("they wait for ever", "they go on", "the others skip it"),
            misconceptions=(
                Misconception("they go on", "A barrier opens when all threads of the block have come."),
                Misconception("the others skip it", "Skipping is not coming: all threads of the block are counted."),
            ),
        ),
    ),
    work=Function("barriers", barriers),
    goals=(
        right_for("Barriers stand where they have to, and nowhere else.", _cases),
        right_for("The end of an iteration meets the beginning of the next one.", _round),
    ),
    hints=(
        "Remember the accesses since the last barrier. A new one that is in conflict with any of them needs a barrier.",
        "A barrier makes everything before it forgotten; the access behind it is the first that is remembered.",
    ),
    why="As late as can be is as few as can be: a barrier serves all conflicts between what stands before it and "
    "behind it. The workbench places barriers in this way, with the index forms to tell whose an element is; "
    "cpu-simt runs threads in several orders and finds one that is missing.",
)

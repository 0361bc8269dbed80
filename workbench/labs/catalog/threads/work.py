"""Exercises on what may run in parallel, on even shares, and on the most that threads can give."""

from __future__ import annotations

from math import ceil, prod

from workbench.ir import Block, Func, blocks
from workbench.ir.poly import concrete
from workbench.ir.stmt import For
from workbench.labs.exercise import Exercise, Goal, Misconception, Nest, Prediction, Setting
from workbench.labs.goals import busy_at_least, iterations_at_once
from workbench.markup import plural
from workbench.schedule import Schedule
from workbench.workloads import matmul

N = 512
#: Rows of C in one iteration, in the first question on even shares.
BLOCK = 64
#: Threads of a machine to think of; not those of the student's.
THREADS = {"threads": (6, 12, 10)}


def product(at: Setting) -> Func:
    """Return a matrix product of 512 by 512 by 512."""
    return matmul(N, N, N)


def _whole_rows(block: Block, path: tuple[For, ...]) -> bool:
    """Whether an iteration of the parallel loops has all columns of its rows."""
    parallel = {lp.name for lp in path if lp.kind == "parallel"}
    used = [{digit.var for digit, _ in form.subst(dict(block.env)).terms} for form in block.index]
    return bool(parallel) and parallel <= used[0] and not parallel & used[1]


def _rows(s: Schedule) -> tuple[int, str]:
    """Rows of C that a parallel iteration has at least, 0 where it has no whole ones; and that in words."""
    parallel = [(block, path) for block, path in blocks(s.func.body) if any(lp.kind == "parallel" for lp in path)]
    if not parallel:
        return 0, "No loop is parallel."
    most = f"{iterations_at_once(s)} iterations may run at the same time"
    if not all(_whole_rows(block, path) for block, path in parallel):
        return 0, f"{most}, and they do not have whole rows."
    rows = min(_of_one(path) for _, path in parallel) // N**2
    return rows, f"{most}, with {plural(rows, 'row')} of C each."


def _eight_rows(s: Schedule, at: Setting) -> tuple[bool, str]:
    rows, told = _rows(s)
    return rows == 8, told


def _rows_parallel(s: Schedule, at: Setting) -> None:
    outer, _ = s.split("i", [None, 8])
    s.parallel(outer)


LEGAL = Exercise(
    name="legal",
    title="What may run at the same time",
    task=f"C[i, j] += A[i, k] * B[k, j], with {N} rows and columns. Two iterations may run at the same "
    "time if neither needs what the other "
    "writes, and both do not write the same place. For which loops of the matrix product does that hold? And if i "
    "is serial, and only j inside of it parallel, what has to happen in every iteration of i? (No result would be "
    "wrong; the workbench refuses it for what it costs.)\n\n"
    "Then give blocks of 8 rows of C to threads: `s.split` and `s.parallel`.",
    predictions=(
        Prediction(
            "loops",
            "Which loops may be parallel, by the rule above?",
            "i and j",
            choices=("i only", "i and j", "i, j and k", "k only"),
            misconceptions=(
                Misconception("i, j and k", "Two steps of k add to the same element: one addition would be lost."),
                Misconception("i only", "Do two columns of C have anything to do with each other?"),
                Misconception("k only", "All steps of k add to the same element of C."),
            ),
        ),
        Prediction(
            "starts",
            "How often would threads have to be given work if j was parallel inside of a serial i?",
            N,
            misconceptions=(
                Misconception(1, "Once would be enough with the parallel loop outside. Here it is inside of i."),
                Misconception(
                    N * N, "That is how many elements are computed. Work is handed out before each loop over j."
                ),
                Misconception(2, "How often does the loop over j begin?"),
            ),
            within=0,
        ),
    ),
    work=Nest(product, _rows_parallel),
    goals=(Goal("Each parallel iteration has 8 rows of C.", _eight_rows),),
    hints=(
        "C[i, j] is another element for every i and every j, and the same one for every k.",
        "s.split('i', [None, 8]) and s.parallel('i.0').",
    ),
    why="Rows and columns of C are independent, steps of k are not. The workbench takes only outermost loops, so that "
    "threads are given work once: handing it out takes a few microseconds every time.",
)


def _of_one(path: tuple[For, ...]) -> int:
    """Runs of a statement in one parallel iteration; those that a guard leaves out take their place, too."""
    return prod(concrete(lp.extent) for lp in path if lp.kind != "parallel")


def _share(iterations: int, threads: int) -> float:
    """Share of the threads' time that is work, if all iterations take as long."""
    return iterations / (threads * ceil(iterations / threads))


def _four_rows(s: Schedule, at: Setting) -> tuple[bool, str]:
    rows, told = _rows(s)
    return rows >= 4, told


def _fine(s: Schedule, at: Setting) -> None:
    outer, _ = s.split("i", [None, 4])
    s.parallel(outer)


BALANCE = Exercise(
    name="balance",
    title="Even shares",
    task=lambda at: (
        f"Think of a machine with {at['threads']} threads, and of {N} rows of C in blocks of {BLOCK}. Each block takes "
        "the same time, and a thread that is done takes the next one. In how many rounds is everything done, and "
        "which share of the threads' time is work?\n\n"
        f"Then cut blocks for these {at['threads']} threads: at least 95 % of their time is work, and an iteration has "
        "at least 4 whole rows, so that a load of B can serve several rows."
    ),
    predictions=(
        Prediction(
            "rounds",
            f"In how many rounds are the blocks of {BLOCK} rows done?",
            lambda at: ceil(N // BLOCK / at["threads"]),
            misconceptions=(
                Misconception(N // BLOCK, "That is the number of blocks. Several are done at the same time."),
                Misconception(lambda at: N // BLOCK / at["threads"], "There are no parts of a round: somebody waits."),
                Misconception(
                    lambda at: ceil(N / at["threads"]),
                    "That is how many single rows each thread would do. How large is a block?",
                ),
            ),
            wrong="How many blocks are done in one round? A round that is not full is a round, too.",
            within=0,
        ),
        Prediction(
            "share",
            "Which share of the threads' time is work?",
            lambda at: 100 * _share(N // BLOCK, at["threads"]),
            "%",
            (
                Misconception(100, "In the last round some threads have nothing to do."),
                Misconception(lambda at: 100 / at["threads"], "That would be one thread working, all others waiting."),
                Misconception(
                    lambda at: 100 - 100 * _share(N // BLOCK, at["threads"]),
                    "That is the share that is waiting. The rest is work.",
                ),
            ),
            wrong="Blocks that are computed, over threads times rounds.",
        ),
    ),
    work=Nest(product, _fine),
    goals=(
        busy_at_least(0.95, lambda at: at["threads"]),
        Goal("An iteration has at least 4 whole rows of C.", _four_rows),
    ),
    hints=(
        "With R rounds, at most one round's worth of threads is idle. More iterations make more rounds.",
        f"{N} rows in blocks of 4 are {N // 4} iterations. s.split('i', [None, 4]), s.parallel('i.0').",
    ),
    why="The last round is full only by luck; the more rounds, the less it matters. But iterations must not be so "
    "small that handing them out takes as long as they do, or that nothing is shared inside of them.",
    variants=THREADS,
)


AMDAHL = Exercise(
    name="amdahl",
    title="The most that threads can give",
    task="A network takes 100 ms on one thread. 90 ms of it are in parallel loops, 10 ms are not. How long does it "
    "take on 9 threads, if parallel loops become 9 times as fast? What is the speed-up then, and how large can it "
    "become with as many threads as you like?",
    predictions=(
        Prediction(
            "time",
            "How long does the network take on 9 threads?",
            20,
            "ms",
            (
                Misconception(100 / 9, "The serial 10 ms do not become faster."),
                Misconception(10, "That is how long the parallel part takes now. What about the other one?"),
                Misconception(19, "Do not take the serial part off the parallel one: 90 ms become how many?"),
            ),
        ),
        Prediction(
            "speedup",
            "What is the speed-up on 9 threads?",
            5,
            misconceptions=(
                Misconception(9, "Only a part of the time becomes 9 times as fast."),
                Misconception(8.1, "A speed-up is the time before over the time after, not a mean of speed-ups."),
                Misconception(0.2, "That is the share of time that is left. The speed-up is its inverse."),
            ),
        ),
        Prediction(
            "most",
            "How large can the speed-up become with any number of threads?",
            10,
            misconceptions=(
                Misconception(90, "When the parallel part takes no time, how much time is left?"),
                Misconception(9, "With very many threads the parallel part takes no time at all."),
            ),
        ),
    ),
    hints=(
        "The time is the sum of both parts: serial, plus parallel over the number of threads.",
        "With very many threads the serial part is all that is left.",
    ),
    why="10 ms + 90 ms / 9 = 20 ms, five times as fast; never less than 10 ms, ten times as fast. What is serial "
    "decides in the end: the start of threads, small layers, and everything that somebody forgot.",
)

"""Exercises on shared memory: operands that a block fetches together, and banks that make its threads wait."""

from __future__ import annotations

from workbench.ir import For, blocks
from workbench.labs.catalog.gpu.machine import (
    BANKS,
    COALESCED,
    NO_CONFLICTS,
    SECTOR,
    SIMT,
    WARP,
    facts,
    threads_of_a_block,
)
from workbench.labs.exercise import Exercise, Goal, Misconception, Nest, Prediction, Setting
from workbench.schedule import Schedule
from workbench.workloads import matmul, transpose

SIZES = {"n": (64, 96, 128)}
#: Rows and columns of a block of threads, and terms between two fetches.
SIDE = 16


def _on_a_grid(at: Setting) -> Schedule:
    """The product with a thread for each sum, which stays in its register."""
    n = at["n"]
    s = Schedule(matmul(n, n, n), SIMT)
    out = s.cache_write("C")
    rows, columns = (loop.name for loop in s.func.block(out)[1])
    i0, i1 = s.split(rows, [None, SIDE])
    j0, j1 = s.split(columns, [None, SIDE])
    s.reorder(i0, j0, i1, j1)
    s.compute_at("C", j0)
    i, j, k = (loop.name for loop in s.func.block("C")[1][-3:])
    k0, k1 = s.split(k, [None, SIDE])
    s.reorder(k0, i, j, k1)
    s.bind(i0, "blockIdx.y").bind(j0, "blockIdx.x").bind(i1, "threadIdx.y").bind(j1, "threadIdx.x")
    s.bind(i, "threadIdx.y").bind(j, "threadIdx.x").set_scope("C.local", "local")
    return s


def _fetched(s: Schedule, at: Setting) -> None:
    for operand in ("A", "B"):
        copy = s.cache_read("C", operand)
        s.compute_at(copy, "C_k.0")
        row, column = (loop.name for loop in s.func.block(copy)[1][-2:])
        s.bind(row, "threadIdx.y").bind(column, "threadIdx.x").set_scope(f"{operand}.local", "shared")


def _from_shared(s: Schedule, at: Setting) -> tuple[bool, str]:
    found = {a.buffer: a.memory for k in facts(s) for a in k.accesses if a.block == "C" and not a.is_write}
    if set(found.values()) != {"shared"}:
        told = " and ".join(f"{buffer} from {memory}" for buffer, memory in sorted(found.items()))
        return False, f"The product reads {told or 'no'} memory."
    alone = [b.name for b, path in blocks(s.func.body) if b.buffer in found and not _together(path)]
    if alone:
        return False, f"Every thread fetches all of it: no loop of {' and '.join(alone)} is bound to threads."
    return True, "The product reads shared memory, which the threads of a block fill together."


def _together(path: tuple[For, ...]) -> bool:
    """Whether threads share out the loops of a copy."""
    return any(lp.kind.startswith("threadIdx") for lp in path)


def _few_barriers(s: Schedule, at: Setting) -> tuple[bool, str]:
    count, shared = sum(k.barriers for k in facts(s)), max(k.shared_bytes for k in facts(s))
    told = f"{count} barriers, {shared:,} bytes shared."
    return bool(shared) and count <= 2, told


SHARE = Exercise(
    name="share",
    title="Fetch together",
    task=lambda at: (
        f"A product of {at['n']} by {at['n']} float32 with a thread for each sum, in blocks of {SIDE} by {SIDE} "
        f"threads. Each thread goes through a row of A and a column of B. The loop over terms is cut: C_k.0, and "
        f"{SIDE} in one step of it. How many threads of the whole grid read the same element of A? If the threads of a "
        "block fetch what they all need into memory that they share, how often is each element of A read from global "
        "memory? Threads run at different speeds: at a *barrier* all of a block wait for each other. How many barriers "
        "does each step of C_k.0 need?\n\n"
        "Then fetch: cache_read('C', 'A') makes a copy, compute_at brings it to C_k.0, its two loops are bound to "
        "threads, and its scope is 'shared'. The same for B."
    ),
    predictions=(
        Prediction(
            "readers",
            "How many threads of the whole grid read the same element of A?",
            lambda at: at["n"],
            misconceptions=(
                Misconception(SIDE, "In one block. And the blocks beside it?"),
                Misconception(lambda at: at["n"] ** 2, "That is how many threads there are. Which need this row of A?"),
                Misconception(1, "Each sum of a row of C needs the whole row of A."),
            ),
            within=0,
        ),
        Prediction(
            "fetched",
            "How often is each element of A read from global memory, once blocks fetch together?",
            lambda at: at["n"] // SIDE,
            "times",
            (
                Misconception(1, "Blocks share nothing with each other. How many need this element?"),
                Misconception(lambda at: at["n"], "That is without sharing."),
                Misconception(SIDE, "That is how many threads share one fetch."),
            ),
            within=0,
        ),
        Prediction(
            "barriers",
            "How many barriers does each step of C_k.0 need?",
            2,
            misconceptions=(
                Misconception(1, "What is fetched has to be there before it is read. And when may it be overwritten?"),
                Misconception(0, "One thread writes what another one reads."),
                Misconception(4, "A and B are fetched between the same two barriers."),
            ),
            within=0,
        ),
    ),
    work=Nest(_on_a_grid, _fetched),
    goals=(
        Goal("The product reads both operands from shared memory.", _from_shared),
        Goal("Something is shared, with two barriers at most.", _few_barriers),
        COALESCED,
        threads_of_a_block(SIDE * SIDE),
    ),
    hints=(
        "copy = s.cache_read('C', 'A'), then s.compute_at(copy, 'C_k.0'). print(s.nest()) shows its loops.",
        f"The copy has {SIDE} rows and {SIDE} columns: as many as the block has threads along y and x.",
        "s.bind(row, 'threadIdx.y'), s.bind(column, 'threadIdx.x'), s.set_scope('A.local', 'shared').",
    ),
    why=lambda at: (
        f"Each element of A was wanted by {at['n']} threads, and now comes once for each of {at['n'] // SIDE} blocks. "
        "A barrier stands between the fetch and the product, and another one before the next fetch. Nobody wrote them: "
        "they stand where one thread touches what another one has written, or still reads."
    ),
    variants=SIZES,
)


# ---------------------------------------------------------------------------------------------------------- the banks

TILE = 32
IMAGES = {"n": (64, 128, 96)}


def _turned(at: Setting) -> Schedule:
    """A transposition through shared memory: a tile comes in rows and goes out in rows."""
    s = Schedule(transpose(at["n"], at["n"]), SIMT)
    j0, j1 = s.split("j", [None, TILE])
    i0, i1 = s.split("i", [None, TILE])
    s.reorder(j0, i0, j1, i1)
    copy = s.cache_read("Y", "X")
    s.compute_at(copy, i0)
    row, column = (loop.name for loop in s.func.block(copy)[1][-2:])
    s.bind(j0, "blockIdx.x").bind(i0, "blockIdx.y").bind(j1, "threadIdx.y").bind(i1, "threadIdx.x")
    s.bind(row, "threadIdx.y").bind(column, "threadIdx.x").set_scope("X.local", "shared")
    return s


def _longer(s: Schedule, at: Setting) -> None:
    s.storage_align("X.local", 0, TILE, 1)


BANK = Exercise(
    name="banks",
    title="Repair: a bank for everybody",
    task=lambda at: (
        f"Y is X, {at['n']} by {at['n']}, transposed. Without shared memory either X is read or Y is written down a "
        f"column. So a block brings a tile of {TILE} by {TILE} to shared memory in rows, and writes it in rows: each "
        f"warp then reads a column of the tile. Shared memory has {BANKS} banks; neighbouring words of four bytes lie "
        "in neighbouring banks. Different words of one bank come one after the other.\n\n"
        f"How many turns does a warp take to read a column of the tile, whose rows have {TILE} words? And if rows have "
        f"{TILE + 1} words? A thread that wrote Y without shared memory would go down a column: how many sectors would "
        "a warp touch?\n\n"
        "Then mend lab.banks.schedule: s.storage_align('X.local', 0, factor, offset) makes the distance between rows "
        "a multiple of factor, and offset more."
    ),
    predictions=(
        Prediction(
            "column",
            f"How many turns does a column take, with rows of {TILE} words?",
            TILE,
            misconceptions=(
                Misconception(1, "In which banks lie the words of a column?"),
                Misconception(2, "Rows have as many words as there are banks."),
                Misconception(TILE * TILE, "That is the whole tile."),
            ),
            within=0,
        ),
        Prediction(
            "longer",
            f"How many turns does it take, with rows of {TILE + 1} words?",
            1,
            misconceptions=(
                Misconception(TILE, "Each row now begins a bank further."),
                Misconception(TILE - 1, "Each row now begins a bank further. Do two words of the column meet?"),
                Misconception(2, f"Word r * {TILE + 1}: how many different banks are that, for {TILE} rows?"),
            ),
            within=0,
        ),
        Prediction(
            "sectors",
            "How many sectors would a warp touch that writes down a column?",
            WARP,
            misconceptions=(
                Misconception(WARP * 4 // SECTOR, "That is for a row."),
                Misconception(1, "Elements of a column lie a row apart."),
                Misconception(8, "That is how many numbers a sector has. How many of one column are in it?"),
            ),
            within=0,
        ),
    ),
    work=Nest(_turned, _longer),
    goals=(NO_CONFLICTS, COALESCED),
    hints=(
        "Rows have to begin in different banks.",
        f"A row of {TILE + 1} words, of which one is not used: a multiple of {TILE}, and one more.",
        f"s.storage_align('X.local', 0, {TILE}, 1).",
    ),
    why=f"With rows of {TILE} words all words of a column lie in one bank. One word more, and row r begins r banks "
    "further: a column takes a turn, a row still does. What it costs is 128 bytes.",
    variants=IMAGES,
)

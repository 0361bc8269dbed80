"""Exercises on instructions that compute a small nest: sums of bytes in every lane, and how operands have to lie."""

from __future__ import annotations

from workbench import te
from workbench.intrinsics import registry
from workbench.ir import Func, blocks
from workbench.labs.counting import count, stages
from workbench.labs.exercise import Exercise, Goal, Misconception, Nest, Prediction, Setting
from workbench.schedule import Schedule
from workbench.target import Target

#: The processor whose instructions these are; a machine that lacks them checks the steps and does not run the nest.
SERVER = Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=cascadelake -threads=1")
#: vpdpbusd on a register of 512 bits: what computes the nests, the columns and the bytes of each that it takes.
DOT = "x86.vnni.dot4"
LANES, GROUP = 16, 4
DEPTH = 256
SIZES = {"m": (64, 96, 48), "n": (128, 64, 192)}
#: Sums that have to be on their way, so that two instructions can begin in every cycle.
SUMS_AT_ONCE = int(registry[DOT].latency / registry[DOT].cycles)
#: Products of a uint8 and an int8 that fit into an int32, whatever they are.
MOST_TERMS = 2**31 // (255 * 128)


def packed(m: int, n: int) -> Func:
    """Return a product of bytes whose weights lie as the instruction takes them: four of k, then sixteen of j."""
    a = te.placeholder((m, DEPTH), "uint8", "A")
    b = te.placeholder((n // LANES, DEPTH // GROUP, LANES, GROUP), "int8", "B")
    k, q = te.reduce_axis(DEPTH // GROUP, "k"), te.reduce_axis(GROUP, "q")

    def at(i: te.Axis, o: te.Axis, j: te.Axis) -> te.Reduction:
        return te.sum(te.cast(a[i, k * GROUP + q], "int32") * te.cast(b[o, k, j, q], "int32"), axis=[k, q])

    return te.func(te.compute((m, n // LANES, LANES), at, name="C"), "bytes")


def plain(m: int, n: int) -> Func:
    """Return the same product with weights in rows."""
    a, b = te.placeholder((m, DEPTH), "uint8", "A"), te.placeholder((DEPTH, n), "int8", "B", constant=True)
    k = te.reduce_axis(DEPTH, "k")

    def at(i: te.Axis, j: te.Axis) -> te.Reduction:
        return te.sum(te.cast(a[i, k], "int32") * te.cast(b[k, j], "int32"), axis=k)

    return te.func(te.compute((m, n), at, name="C"), "bytes")


def _by_instruction(s: Schedule, at: Setting) -> tuple[bool, str]:
    found = [lp.intrin for _, path in blocks(s.func.body) for lp in path if lp.intrin]
    good = found == [DOT]
    return good, f"{found[0]} computes the innermost loops." if found else "No loop is computed by an instruction."


BY_INSTRUCTION = Goal(f"{DOT} computes the innermost loops.", _by_instruction)


def _sums_at_once(s: Schedule, at: Setting) -> tuple[bool, str]:
    kept, most = count(s.func, LANES).accumulators, registry[DOT].accumulators
    if not _by_instruction(s, at)[0] or not kept:
        return False, (
            "No sums stay in registers: the instruction has to be there, and inside of the loop of the sum every other "
            "loop has to be unrolled."
        )
    told = f"Vectors of sums in registers: {kept}"
    if kept > most:
        return False, f"{told}; there is room for {most}."
    return kept >= SUMS_AT_ONCE, f"{told}{'.' if kept >= SUMS_AT_ONCE else f'; at least {SUMS_AT_ONCE} are needed.'}"


def _row_tile(s: Schedule, at: Setting) -> None:
    outer, inner = s.split("i", [None, 16])
    s.reorder(outer, "o", "k", inner, "j", "q")
    s.unroll(inner)
    s.tensorize("j", DOT)


DOTS = Exercise(
    name="dots",
    title="An instruction that is a nest",
    task=lambda at: (
        f"C[i, o, j] adds up A[i, 4k + q] * B[o, k, j, q], for {at['m']} rows, {at['n']} columns and {DEPTH} terms. A "
        "holds uint8, B int8, and the sums are int32. One instruction, vpdpbusd, has 16 lanes of 32 bits; in each lane "
        "it takes four bytes of A, four bytes of B, multiplies them in pairs, and adds the four products to the sum "
        "of that lane. How many multiply-adds does one such instruction do? How many times as many is that as one "
        "multiply-add of float32 vectors of the same 512 bits? How many products of a uint8 and an int8 surely fit "
        "into an int32?\n\n"
        "Two of these instructions can begin in each cycle, and each takes 5 cycles until the next one on the same sum "
        f"may begin. Let the instruction compute the nest, with at least {SUMS_AT_ONCE} vectors of sums in registers; "
        f"there is room for {registry[DOT].accumulators}. For tensorize, the instruction is called {DOT}. The loops "
        "that it stands for are j (16) and q (4), in this order and innermost."
    ),
    predictions=(
        Prediction(
            "adds",
            "How many multiply-adds does one vpdpbusd on 512 bits do?",
            LANES * GROUP,
            misconceptions=(
                Misconception(LANES, "That is the number of lanes. How many products does each of them add?"),
                Misconception(GROUP, "That is one lane. How many lanes are there?"),
                Misconception(2 * LANES * GROUP, "A multiplication and its addition count as one here."),
                Misconception(512, "That is how many bits a register has."),
            ),
            within=0,
        ),
        Prediction(
            "times",
            "How many times as many is that as one multiply-add of float32 vectors does?",
            GROUP,
            misconceptions=(
                Misconception(LANES, "That is how many a float32 vector of 512 bits does. What is asked is the ratio."),
                Misconception(LANES * GROUP, "A float32 vector does more than one multiply-add as well."),
                Misconception(2, "A byte is a quarter of a float32, not half of it."),
            ),
            within=0,
        ),
        Prediction(
            "fits",
            "How many products of a uint8 and an int8 surely fit into an int32 that starts at 0?",
            MOST_TERMS,
            misconceptions=(
                Misconception(
                    2**31 // 127**2,
                    "A uint8 goes up to 255, an int8 down to -128, and one bit of the int32 is its sign.",
                ),
                Misconception(1, "That would be so in an int16: 255 * 128 = 32,640 of 32,768."),
                Misconception(2**31, "Each product may be as large as 255 * 128."),
            ),
        ),
    ),
    work=Nest(lambda at: Schedule(packed(at["m"], at["n"]), SERVER), _row_tile),
    goals=(
        BY_INSTRUCTION,
        Goal(f"At least {SUMS_AT_ONCE} vectors of sums stay in registers, and all of them fit.", _sums_at_once),
    ),
    hints=(
        "Cut rows off i, and bring them inside of k: each row is a vector of sums. Then j and q, innermost.",
        "s.split('i', [None, 16]); s.reorder('i.0', 'o', 'k', 'i.1', 'j', 'q').",
        f"s.unroll('i.1') and s.tensorize('j', '{DOT}').",
    ),
    why=f"Steps on one sum wait for each other for 5 cycles, in which 10 instructions could begin: {SUMS_AT_ONCE} sums "
    "at once keep the machine busy. The nest still says what is computed: tensorize compares it with the nest that the "
    "instruction stands for, and refuses what is not the same.",
    variants=SIZES,
)


# ------------------------------------------------------------------------------------------------ how operands lie


def _in_rows(at: Setting) -> Schedule:
    s = Schedule(plain(at["m"], at["n"]), SERVER)
    s.split("j", [None, LANES])
    s.split("k", [None, GROUP])
    s.reorder("i", "j.0", "k.0", "j.1", "k.1")
    return s


def _pack(s: Schedule, at: Setting) -> None:
    s.transform_layout("B", 0, GROUP)
    s.tensorize("j.1", DOT)


def _no_copies(s: Schedule, at: Setting) -> tuple[bool, str]:
    copies = [name for name, stage in stages(s.func).items() if stage.temporary]
    return not copies, f"{', '.join(copies)} is computed at each call." if copies else "Nothing is copied at a call."


PACK = Exercise(
    name="pack",
    title="Repair: the instruction does not fit",
    task=lambda at: (
        f"The same product, but the weights B lie in {DEPTH} rows of {at['n']} bytes. The loops are split and ordered "
        "as the instruction wants them, and still it is refused: try s.copy().tensorize('j.1', "
        f"'{DOT}') and read why. Which operand lies in another way than the instruction takes it? How many bytes "
        "are between B[k, j] and B[k + 1, j], two bytes for the same lane? And how many bytes of B does one "
        "instruction take?\n\n"
        "B holds weights, known ahead of time: change its layout (transform_layout), so that the instruction computes "
        "the nest and nothing is copied at a call."
    ),
    predictions=(
        Prediction(
            "operand",
            "Which operand lies in another way?",
            "B",
            choices=("A", "B", "C"),
            misconceptions=(
                Misconception("A", "Four neighbouring k of one row of A are neighbours in memory."),
                Misconception("C", "Sixteen neighbouring j of a row of C are neighbours in memory."),
            ),
        ),
        Prediction(
            "apart",
            "How many bytes are between B[k, j] and B[k + 1, j]?",
            lambda at: at["n"],
            "bytes",
            misconceptions=(
                Misconception(1, "That is the distance to B[k, j + 1]. Rows lie one behind the other."),
                Misconception(GROUP, "That is how many bytes a lane takes. How long is a row?"),
                Misconception(lambda at: 4 * at["n"], "An int8 has one byte."),
                Misconception(DEPTH, "That is how many rows there are. How long is one of them?"),
            ),
            within=0,
        ),
        Prediction(
            "bytes",
            "How many bytes of B does one instruction take?",
            LANES * GROUP,
            "bytes",
            misconceptions=(
                Misconception(LANES, "That is one byte for each lane. How many does a lane take?"),
                Misconception(GROUP, "That is one lane. How many lanes are there?"),
                Misconception(LANES * GROUP * 4, "An int8 has one byte."),
            ),
            within=0,
        ),
    ),
    work=Nest(_in_rows, _pack),
    goals=(BY_INSTRUCTION, Goal("Nothing is copied at a call.", _no_copies)),
    hints=(
        "s.transform_layout(buffer, dim, block) cuts a dimension into blocks. Where it was stands the number of the "
        "block; the place within the block becomes the last dimension. Print the nest: B shows its new shape.",
        "The four bytes of a lane are four rows of one column. Cut the rows (dimension 0) in blocks: of how many?",
        f"s.transform_layout('B', 0, {GROUP}), s.tensorize('j.1', '{DOT}').",
    ),
    why="A lane takes four bytes that are neighbours, and so do all sixteen lanes: 64 bytes in one piece. In rows, the "
    "four lie in four rows. Weights are packed once, ahead of time; activations that two layers pass on are laid out "
    "like that by the producer.",
    variants=SIZES,
)

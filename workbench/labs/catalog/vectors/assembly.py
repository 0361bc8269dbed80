"""Exercise on reading assembly: which instructions work on whole vectors."""

from __future__ import annotations

from workbench.labs.exercise import Exercise, Function, Misconception, Prediction
from workbench.labs.goals import right_for

#: Loops as a compiler writes them, with (packed, single) multiply-adds, additions and multiplications; no two
#: counts of a sample are equal, so that a function that swaps them is right for none.
SAMPLES = {
    "one number at a time": (
        "vmovss (%r8,%r10,4), %xmm2\nvfmadd213ss (%rcx,%r10,4), %xmm1, %xmm2\nvmovss %xmm2, (%rdi,%r10,4)\nincq %r10",
        (0, 1),
    ),
    "vectors of 8": (
        "vbroadcastss (%rsi), %ymm3\nvfmadd231ps (%rdx), %ymm3, %ymm0\n"
        "vfmadd231ps 32(%rdx), %ymm3, %ymm1\naddq $64, %rdx",
        (2, 0),
    ),
    "vectors and a rest": (
        "vmulps (%rax), %zmm1, %zmm2\nvaddps (%rcx), %zmm2, %zmm2\nvmovups %zmm2, (%rdi)\n"
        "vmovss 64(%rax), %xmm2\nvfmadd213ss 64(%rcx), %xmm1, %xmm2\nvmovss %xmm2, 64(%rdi)",
        (2, 1),
    ),
}


def arithmetic(code: str) -> tuple[int, int]:
    """Count what multiplies or adds float32 numbers: (whole vectors, single numbers)."""
    names = [line.split()[0] for line in code.splitlines() if line.strip()]
    names = [name for name in names if name.startswith(("vfmadd", "vmul", "vadd"))]
    return sum(name.endswith("ps") for name in names), sum(name.endswith("ss") for name in names)


READ = Exercise(
    name="read",
    title="Reading the assembly",
    task="Names of x86 instructions on float32 numbers end in two letters: ss, scalar single, works on one number; "
    "ps, packed single, on all lanes. Before them stands what is done: vfmadd231ps (multiply-add), vmulps, vaddps, "
    "vmovups (load or store). An xmm register has 128 bits, ymm 256, zmm 512. What does vfmadd213ss work on? How many "
    "float32 numbers does one vaddps on ymm registers add? And what does vbroadcastss do?\n\n"
    "Then write arithmetic(code): it is given lines of assembly as one text, and returns two numbers: how many "
    "instructions multiply or add (vfmadd…, vmul…, vadd…) on whole vectors, and how many on single numbers. "
    "Loads, stores and arithmetic on addresses (addq) do not count.",
    predictions=(
        Prediction(
            "scalar",
            "What does vfmadd213ss work on?",
            "one number",
            choices=("one number", "a whole vector", "three numbers"),
            misconceptions=(
                Misconception("a whole vector", "Read the last two letters. The v stands before scalar ones as well."),
                Misconception("three numbers", "213 says which operand is multiplied and which is added."),
            ),
        ),
        Prediction(
            "ymm",
            "How many float32 numbers does one vaddps on ymm registers add?",
            8,
            misconceptions=(
                Misconception(32, "That is how many bytes a ymm register has. How many has a float32?"),
                Misconception(256, "That is how many bits a ymm register has. How many has a float32?"),
                Misconception(4, "That is right for float64 numbers, or for an xmm register."),
                Misconception(16, "That would be a zmm register."),
            ),
            within=0,
        ),
        Prediction(
            "broadcast",
            "What does vbroadcastss do?",
            "one number into all lanes",
            choices=("one number into all lanes", "adds all lanes", "stores one lane"),
            misconceptions=(
                Misconception("adds all lanes", "That would be a sum. To broadcast is to send the same to all."),
                Misconception("stores one lane", "It writes into a register, and all of its lanes."),
            ),
        ),
    ),
    work=Function("arithmetic", arithmetic),
    goals=tuple(
        right_for(f"The count is right for a loop with {sample}.", [((code,), right, f"a loop with {sample}")])
        for sample, (code, right) in SAMPLES.items()
    ),
    hints=(
        "code.splitlines() gives the lines, and line.split()[0] the name of the instruction.",
        "name.startswith(('vfmadd', 'vmul', 'vadd')) says whether it counts, name.endswith('ps') whether it is packed.",
    ),
    why="Loads and stores say little: vmovss is in every vectorised program. What has to end in ps is the arithmetic "
    "of the innermost loop.",
)

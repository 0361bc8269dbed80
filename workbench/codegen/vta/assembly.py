"""The text of a program, written and read: an instruction a line, and micro-ops as kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from workbench.codegen.code_line import Line
from workbench.codegen.vta.instructions import (
    ALU_OPS,
    ENGINES,
    Alu,
    Gemm,
    HardwareLoop,
    Instruction,
    LoadMicroOps,
    Operation,
    Program,
    Transfer,
)
from workbench.errors import BuildError

_LOOP = r"(?: loop (\d+): acc (-?\d+) inp (-?\d+) wgt (-?\d+))"
_FORMS = {
    "load": re.compile(
        r"load (inp|wgt|acc)\[(\d+)\] = %(\d+)\[(\d+)\] rows (\d+) x (\d+) stride (-?\d+)"
        r"(?: pad (\d+) (\d+) (\d+) (\d+))?"
    ),
    "store": re.compile(r"store %(\d+)\[(\d+)\] = acc\[(\d+)\] rows (\d+) x (\d+) stride (-?\d+)"),
    "uop": re.compile(r"load uop\[(\d+)\] = kernel (\d+)"),
    "gemm": re.compile(rf"gemm uop\[(\d+):(\d+)\] reset (\d+){_LOOP}{_LOOP}"),
    "alu": re.compile(rf"alu ({'|'.join(ALU_OPS)}) uop\[(\d+):(\d+)\]{_LOOP}{_LOOP}(?: by (-?\d+))?"),
}
_TOKENS = re.compile(rf"(pop|push) ({'|'.join(ENGINES)})")
_TENSOR = re.compile(r"tensor %\d+ (\w+) (\d+) (.*)")
_KERNEL = re.compile(r"kernel \d+:((?: \d+,\d+,\d+)*)")


def lines(program: Program) -> Iterator[Line]:
    """Write a program; each line knows its row of the nest."""
    yield Line(f"target {program.target}", "")
    for k, (name, dtype, size) in enumerate(program.tensors):
        yield Line(f"tensor %{k} {dtype} {size} {name!r}", "")
    for k, kernel in enumerate(program.kernels):
        yield Line(f"kernel {k}:{''.join(f' {a},{b},{c}' for a, b, c in kernel)}", "")
    for i in program.instructions:
        tokens = [f"pop {e}" for e in i.pops] + [f"push {e}" for e in i.pushes]
        yield Line(f"{_text(i.does)}{'  | ' if tokens else ''}{', '.join(tokens)}", i.row)


def _text(op: Operation) -> str:
    match op:
        case Transfer("load"):
            text = f"load {op.memory}[{op.sram}] = %{op.tensor}[{op.dram}] rows {op.height} x {op.width}"
            return f"{text} stride {op.stride}" + (f" pad {' '.join(map(str, op.pad))}" if any(op.pad) else "")
        case Transfer():
            text = f"store %{op.tensor}[{op.dram}] = acc[{op.sram}] rows {op.height} x {op.width}"
            return f"{text} stride {op.stride}"
        case LoadMicroOps():
            return f"load uop[{op.sram}] = kernel {op.kernel}"
        case Gemm():
            return f"gemm uop[{op.first}:{op.end}] reset {op.reset}{_loops(op.loops)}"
        case Alu():
            number = "" if op.number is None else f" by {op.number}"
            return f"alu {op.op} uop[{op.first}:{op.end}]{_loops(op.loops)}{number}"


def _loops(loops: Sequence[HardwareLoop]) -> str:
    return "".join(f" loop {n}: acc {a} inp {b} wgt {c}" for n, a, b, c in loops)


def read(text: str) -> Program:
    """Read a program.

    Raises
    ------
    BuildError
        "vta.text" for a line that is no instruction.
    """
    target, tensors, kernels, instructions = "", [], [], []
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("target "):
            target = line.removeprefix("target ")
        elif found := _TENSOR.fullmatch(line):
            tensors.append((found[3].strip("'\""), found[1], int(found[2])))
        elif found := _KERNEL.fullmatch(line):
            kernels.append(tuple((int(a), int(b), int(c)) for a, b, c in (w.split(",") for w in found[1].split())))
        else:
            instructions.append(_instruction(line, number))
    return Program(target, tuple(tensors), tuple(kernels), tuple(instructions))


def _instruction(line: str, number: int) -> Instruction:
    body, _, said = line.partition("|")
    tokens = _TOKENS.findall(said)
    for name, form in _FORMS.items():
        if (found := form.fullmatch(body.strip())) and len(tokens) == (said.count(",") + 1 if said else 0):
            pops, pushes = (tuple(e for what, e in tokens if what == w) for w in ("pop", "push"))
            return Instruction(_operation(name, found), pops, pushes)
    raise BuildError("vta.text", f"Line {number} is no instruction: {line[:80]}", (str(number),))


def _operation(name: str, found: re.Match[str]) -> Operation:
    if name == "load":
        n = [int(x or 0) for x in found.groups()[1:]]
        return Transfer("load", found[1], n[0], n[1], n[2], n[3], n[4], n[5], (n[6], n[7], n[8], n[9]))
    if name == "alu":
        n = [int(x) for x in found.groups()[1:11]]
        return Alu(found[1], n[0], n[1], _pair(n[2:]), None if found[12] is None else int(found[12]))
    n = [int(x) for x in found.groups()]
    if name == "uop":
        return LoadMicroOps(*n)
    if name == "gemm":
        return Gemm(n[0], n[1], n[2], _pair(n[3:]))
    return Transfer("store", "acc", n[2], n[0], n[1], n[3], n[4], n[5])


def _pair(n: Sequence[int]) -> tuple[HardwareLoop, HardwareLoop]:
    return (n[0], n[1], n[2], n[3]), (n[4], n[5], n[6], n[7])

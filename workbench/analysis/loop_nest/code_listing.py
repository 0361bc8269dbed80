"""The code of a schedule in four forms, each line with the loop or statement of the nest that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from workbench import markup as m
from workbench.arguments import is_a, shown
from workbench.codegen.backend import backend_for, backends
from workbench.errors import InputError, did_you_mean
from workbench.ir import Func
from workbench.ir.text.printer import listing_of
from workbench.schedule import Schedule
from workbench.target import Target
from workbench.target_kinds import target_kinds

#: ``nest``, the loops and statements; a kind of target (``c``, ``llvm``), what its backend writes; ``asm``;
#: ``kernels``, the statistics.
CodeKind: TypeAlias = str

#: Lines of a listing: more than anybody reads, and as much as a page can hold. Chosen, not measured.
MAX_LINES = 6_000


@dataclass(frozen=True, slots=True)
class Line:
    """A line of code, and the row of the nest that it belongs to; "" for lines of no row."""

    text: str
    row: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """The code of a function; printing it shows the text.

    Attributes
    ----------
    kind : str
        ``nest``, ``c``, ``llvm`` or ``asm``.
    lines : tuple of Line
        The lines; `Line.row` is what `NestRow.id` is.
    cut : str
        What was left out at the end; empty when nothing was.
    """

    kind: CodeKind
    lines: tuple[Line, ...]
    cut: str = ""

    def of(self, row: str) -> tuple[int, ...]:
        """Return the numbers of the lines that belong to a row, from 0; none where it has no code of its own."""
        return tuple(number for number, line in enumerate(self.lines) if line.row == row)

    @property
    def rows(self) -> tuple[str, ...]:
        """Rows that have lines, in the order of their first ones."""
        return tuple(dict.fromkeys(line.row for line in self.lines if line.row))

    @property
    def runs(self) -> tuple[tuple[int, str], ...]:
        """Where lines of another row begin: the first line and the row."""
        before = None
        out = []
        for number, line in enumerate(self.lines):
            if line.row != before:
                out.append((number, line.row))
            before = line.row
        return tuple(out)

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def __str__(self) -> str:
        said = [f"... {self.cut}"] if self.cut else []
        return "\n".join([*(line.text for line in self.lines), *said]) + "\n"

    def _repr_html_(self) -> str:
        return str(m.page(m.heading("Code", code_kinds()[self.kind], m.plural(len(self), "line")), m.code(self)))


def listing(schedule: Schedule | Func, kind: CodeKind = "nest", target: Target | str | None = None) -> Listing:
    """Return the code of a schedule as it is now.

    Parameters
    ----------
    schedule : Schedule or Func
        Under any schedule; only ``nest`` can be listed while numbers are open.
    kind : str
        ``nest``, the loops and statements; ``c``, the same as C99; ``llvm``, what LLVM is given, and so on for every
        kind of target; ``asm``, the machine's instructions; ``kernels``, what is known of a GPU's kernels before they
        run.
    target : Target or str, optional
        What code is generated for; the schedule's own by default, or this machine.

    Returns
    -------
    Listing

    Raises
    ------
    InputError
        "code.kind" for another kind.
    BuildError
        "build.holes" when a number is still open; what the code generator or the compiler refuses.
    """
    is_a("schedule", schedule, (Schedule, Func), "pass a schedule, or its func")
    code_kind(kind)
    func = schedule if isinstance(schedule, Func) else schedule.func
    machine = target or (None if isinstance(schedule, Func) else schedule.target) or Target.host()
    return cut_to(kind, _lines(kind, func, machine if isinstance(machine, Target) else Target(machine)))


def code_kinds() -> dict[CodeKind, str]:
    """Return the kinds of listings, in the order of their tabs, each with its title."""
    languages = {b.kind: b.language for b in backends}
    return {"nest": "Program", **dict(sorted(languages.items())), "asm": "Assembly", "kernels": "Kernels"}


def code_kind(kind: object) -> CodeKind:
    """Return the kind of a listing; raises "code.kind" for anything else."""
    known = code_kinds()
    if isinstance(kind, str) and kind in known:
        return kind
    raise InputError("code.kind", f"There is no listing {shown(kind)}", (), did_you_mean(kind, known, "listings"))


def cut_to(kind: CodeKind, pairs: list[tuple[str, str]], most: int = MAX_LINES) -> Listing:
    """Make a listing of lines with their rows; of very many only the first ones."""
    cut = f"{len(pairs) - most} more lines are not shown" if len(pairs) > most else ""
    return Listing(kind, tuple(Line(text, row) for text, row in pairs[:most]), cut)


def _lines(kind: CodeKind, func: Func, target: Target) -> list[tuple[str, str]]:
    """List what the backend of a kind makes for the target's machine, whichever backend builds for the target."""
    if kind == "nest":
        return listing_of(func)
    if kind == "asm":
        return backend_for(target).asm_listing(func, target)
    if kind == "kernels":
        return [line for kernel in backend_for(target).statistics(func, target) for line in kernel.lines()]
    made = _as_kind(target, kind)
    return backend_for(made).listing(func, made)


def _as_kind(target: Target, kind: str) -> Target:
    """The same machine as another kind of target; where either is no processor, the kind's usual one."""
    if target.kind == kind:
        return target
    both = target_kinds[target.kind].processor and target_kinds[kind].processor
    return replace(target, kind=kind) if both else Target(kind)

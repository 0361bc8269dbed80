"""What an exercise says, as text and as HTML that survives a notebook's sanitiser (no classes, no scripts)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench import markup
from workbench.labs.exercise import Exercise, Prediction, said

if TYPE_CHECKING:
    from workbench.runtime.results.measurement import Measurement
    from workbench.schedule import Schedule
    from workbench.target import Target

UNATTEMPTED, OPEN, SOLVED = "not attempted", "not yet", "solved"
_MARK = {True: "✓", False: "✗", None: "○"}
_COLOUR = {True: "#2e7d32", False: "#c62828", None: "#757575"}


@dataclass(frozen=True)
class Shown:
    """A heading, a paragraph, lists with a heading each, and a piece of code."""

    title: str
    text: str
    lists: tuple[tuple[str, tuple[str, ...]], ...] = ()
    code: str = ""

    def __repr__(self) -> str:
        parts = [self.title, self.text]
        for head, lines in self.lists:
            parts += [f"{head}:", *(f"  - {line}" for line in lines)]
        return "\n".join(p for p in [*parts, self.code] if p)

    def _repr_html_(self) -> str:
        parts = [markup.styled("font-weight: bold", self.title, "p")]
        parts += [markup.styled("margin: 4px 0", p, "p") for p in self.text.split("\n\n") if p]
        for head, lines in self.lists:
            parts += [markup.section(head), *(markup.line("• ", line) for line in lines)]
        if self.code:
            parts.append(markup.code(self.code))
        return markup.page(*parts)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: reached, not reached, or (None) not tried yet."""

    good: bool | None
    text: str


@dataclass(frozen=True)
class Verdict:
    """What `check` found.

    Attributes
    ----------
    state : str
        "not attempted", "not yet" or "solved".
    findings : tuple of Finding
    note : str
        What the clock says, for interest only.
    """

    title: str
    state: str
    findings: tuple[Finding, ...]
    note: str = ""

    @property
    def solved(self) -> bool:
        """Whether nothing is missing."""
        return self.state == SOLVED

    def __bool__(self) -> bool:
        return self.solved

    def __repr__(self) -> str:
        lines = [f"{self.title}: {self.state}", *(f"  {_MARK[f.good]} {f.text}" for f in self.findings)]
        return "\n".join([*lines, *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        good = True if self.solved else None if self.state == UNATTEMPTED else False
        head = markup.join(self.title, ": ", _coloured(good, self.state))
        rows = [(_coloured(f.good, _MARK[f.good]), f.text) for f in self.findings]
        table = markup.table((markup.Column(""), markup.Column("")), rows)
        return markup.page(markup.styled("font-weight: bold", head, "p"), table, markup.line(markup.faint(self.note)))


def _coloured(good: bool | None, value: str) -> markup.Html:
    return markup.styled(f"color: {_COLOUR[good]}", value)


def _time(done: Measurement) -> str:
    if done.clean:
        return f"{done.ms:.3g} ms, {done.gflops:.3g} GFLOP/s"
    return f"at least {done.at_least_ms:.3g} ms, because {done.why_not}"


def verdict(
    exercise: Exercise,
    target: Target,
    judged: Sequence[tuple[Prediction, bool | None, str]],
    schedule: Schedule,
) -> Verdict:
    """Judge an attempt: predictions, goals, and the result of the nest compared with the reference."""
    findings = [Finding(good, text) for _, good, text in judged]
    touched, note = bool(schedule.trace), ""
    if not touched:
        findings += [Finding(None, f"The nest is still as it was. {said(g.text, target)}") for g in exercise.goals]
    elif not schedule.is_concrete:
        names = ", ".join(h.name for h in schedule.holes) or "a choice"
        findings.append(Finding(False, f"The nest is not complete: {names} is still open. Fill it before you check."))
    else:
        for goal in exercise.goals:
            good, text = goal.reached(schedule.func, target)
            findings.append(Finding(good, text))
        done = schedule.measure()
        reason = markup.last_line(done.error, "no reason is known")
        text = "The nest computes the right result." if done.ok else f"The nest does not run: {reason}"
        findings.append(Finding(done.ok, text))
        note = f"Measured on this machine: {_time(done)} (not part of the score)." if done.ok else ""
    if all(f.good for f in findings):
        state = SOLVED
    else:
        state = OPEN if touched or any(good is not None for _, good, _ in judged) else UNATTEMPTED
    return Verdict(exercise.title, state, tuple(findings), note)

"""Search spaces: a few schedules with holes, from sketch rules or from a schedule that a person has left open."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.arguments import is_a
from workbench.errors import ScheduleError, TuneError, UsageError
from workbench.ir import Func
from workbench.machine_model.machine_parameters import Machine
from workbench.markup import plural
from workbench.safe_text import legible, legible_line
from workbench.schedule import Schedule
from workbench.space.html import space_html
from workbench.space.rule_report import RuleRecord, report, rule_records
from workbench.space.sketch import RULES, Draft, Note, Structure, Trouble, sketches
from workbench.space.template import TEMPLATES, Knobs
from workbench.space.variant import Variant


@dataclass(frozen=True, slots=True, repr=False)
class Space:
    """All schedules that a search may propose for one computation.

    Attributes
    ----------
    id : str
        Names the space: equal ids have equal variants, so that rows of a log can be used again.
    variants : tuple of Variant
    asked : tuple of str
        Names of the rules that were asked, in order.
    troubles : tuple of Trouble
        What went wrong with custom rules.
    """

    id: str
    variants: tuple[Variant, ...]
    asked: tuple[str, ...] = ()
    troubles: tuple[Trouble, ...] = ()
    _knobs: Knobs | None = field(default=None, repr=False, compare=False)

    @property
    def size(self) -> int:
        """Number of rows over all variants, limits not applied."""
        return sum(v.sampler.size for v in self.variants)

    def schedule(self, candidate: Any) -> Schedule:
        """Concrete schedule of a candidate (`variant` and `row`)."""
        if not 0 <= candidate.variant < len(self.variants):
            raise TuneError("tune.variant", f"The space has no variant {candidate.variant}.", (self.id,))
        filled: Schedule = self.variants[candidate.variant].schedule.fill(dict(candidate.row))
        return filled

    def __repr__(self) -> str:
        return f"<space {legible_line(self.id[:80])}: {plural(len(self.variants), 'variant')}, {self.size:,} rows>"

    def rules(self) -> list[RuleRecord]:
        """What every rule did to every block, and why or why not, as data (``pandas.DataFrame(space.rules())``)."""
        return rule_records(self.variants, self.asked)

    def knobs(self) -> Knobs:
        """Knob table of the template that the space comes from; ``space.knobs().values(variant, row)`` reads a row.

        Raises
        ------
        UsageError
            "space.knobs" where there is no template.
        """
        if self._knobs is None:
            text = f"Space {self.id} does not come from a template, so it has no knobs."
            raise UsageError("space.knobs", text, (self.id,), "see space.explain(), or make_space(task, template=...)")
        return self._knobs

    def explain(self) -> str:
        """Which rules made each variant, and for each block which ones applied (+), which did not (-), and why."""
        lines = [f"space {self.id}: {plural(len(self.variants), 'variant')}, {self.size:,} rows"]
        for v in self.variants:
            lines.append(f"  variant {v.index}: {v.label} ({v.sampler.size:,} rows)")
            lines += [f"    {n.rule:<10} {n.reason}" for n in v.notes]
            held = v.sampler.domain.constraints
            lines += [f"    {'limit':<10} {c.label}: {c.expr} >= 0" for c in held]
            lines += [f"    {'dropped':<10} {c.label}: no row fulfils it" for c in v.wishes if c not in held]
        gone = ["custom rules", *(f"  ! {t}" for t in self.troubles)] if self.troubles else []
        return legible("\n".join([*lines, *gone, "blocks", *report(self.rules(), len(self.variants))]))

    def _repr_html_(self) -> str:
        knobs = None if self._knobs is None else self._knobs._repr_html_()
        return space_html(self.id, self.size, self.variants, self.rules(), self.troubles, knobs)


def make_space(
    task: Any,
    target: Any = None,
    *,
    structure: str | None = None,
    rules: Sequence[Any] | None = None,
    template: str | None = None,
    fixed: Mapping[str, Any] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Space:
    """Space of a task from the sketch rules or from a template, or of a schedule from what it leaves open.

    Parameters
    ----------
    task : Task, Func or Schedule
    target : Target, optional
        That of the task, else the host.
    structure : str, optional
        Levels of tiled reductions, "SSRSRS" for example: S over tiles of the result, R over parts of the reduction. The
        first S are blocks that run in parallel, the last S are the register tile. By default "SSRS", and "SSRSRS" where
        operands are reused.
    rules : sequence of str or Rule, optional
        Names of the rules to apply; ``"-name"`` for all rules but these; what `sketch_rule` made for one more.
    template : str, optional
        Name of a template that takes the place of the rules.
    fixed : mapping, optional
        Knobs of the template that are not left open -> their values: factors of a split (-1 is the rest), a candidate.
    tell : callable, optional
        Gets a sentence for whatever goes wrong with a custom rule, which costs only the sketch that it is about; a
        ``RuntimeWarning`` when left out. `Space.explain` has them, too.

    Raises
    ------
    UsageError
        "usage.type" for anything else; "space.structure" for levels that make no sense, "space.rules" for rules that do
        not exist, "space.template" for a template together with either, or for fixed knobs without one,
        "space.schedule" for a schedule together with anything.
    TemplateError
        "template.*" when there is no such template, or when it does not fit or does not work.
    ScheduleError
        "hole.empty" for a schedule of which no combination of the choices is legal.

    Examples
    --------
    >>> import workbench as wb
    >>> space = wb.make_space(wb.workloads.matmul(64, 64, 64))
    >>> reasons = space.explain()
    """
    how = {"target": target, "structure": structure, "rules": rules, "template": template, "fixed": fixed}
    given = [name for name, value in how.items() if value is not None]
    if isinstance(task, Schedule):
        if given:
            text = f"The space of a schedule is what it leaves open; {given[0]} has no place there."
            raise UsageError("space.schedule", text, given, "give the task, or the schedule alone")
        return space_from_schedule(task)
    func, target = _func(task), getattr(task, "target", None) if target is None else target
    if template is not None:
        if structure is not None or rules is not None:
            text = "A template says itself how it tiles and what it applies."
            raise UsageError("space.template", text, (template,), "leave structure and rules out")
        knobs = None if fixed is None else is_a("fixed", fixed, Mapping, "knob -> value", "space.template")
        return _from_template(func, target, template, knobs)
    if fixed is not None:
        text = "Only a template has knobs that can be fixed."
        raise UsageError("space.template", text, ("fixed",), "name the template too")
    return _from_rules(func, target, None if structure is None else Structure.parse(structure), rules, tell or _warn)


def _func(task: Any) -> Func:
    if isinstance(task, Func):
        return task
    from workbench.graph.tasks import Task

    func: Func = is_a("task", task, Task, "a Func or a schedule with holes does, too").func
    return func


def _from_template(func: Func, target: Any, template: str, fixed: Mapping[str, Any] | None) -> Space:
    machine = Machine.of(target)
    found = TEMPLATES[template].expand(func, target, machine, fixed)
    return _space(func.name, _variants(found.drafts, machine), ("template",), Knobs.of(template, found))


def _from_rules(
    func: Func, target: Any, structure: Structure | None, rules: Sequence[Any] | None, tell: Callable[[str], None]
) -> Space:
    machine = Machine.of(target)
    chosen = tuple(r for r in RULES.chosen(rules) if r.fits(machine))
    found: dict[Trouble, None] = {}
    drafts = sketches(
        Schedule(func, target), machine, structure=structure, rules=chosen, tell=lambda t: found.setdefault(t)
    )
    for trouble in found:
        tell(str(trouble))
    return _space(func.name, _variants(drafts, machine), tuple(r.name for r in chosen), troubles=tuple(found))


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=4)


def join_spaces(*spaces: Space) -> Space:
    """One space of all variants of several, numbered anew: sketches and a template, for example.

    Raises
    ------
    UsageError
        "space.join" when they are about different computations, or when there is none.
    """
    variants = [v for s in spaces for v in s.variants]
    if not variants or any(v.schedule.base != variants[0].schedule.base for v in variants):
        text = "Spaces can be joined when there are some, all of one computation."
        raise UsageError("space.join", text, [s.id for s in spaces])
    asked = tuple(dict.fromkeys(name for s in spaces for name in s.asked))
    joined = tuple(replace(v, index=k) for k, v in enumerate(variants))
    starts = [sum(len(s.variants) for s in spaces[:k]) for k in range(len(spaces))]
    tables = [replace(s._knobs, first=at) for s, at in zip(spaces, starts, strict=True) if s._knobs is not None]
    troubles = tuple(dict.fromkeys(t for s in spaces for t in s.troubles))
    return _space(variants[0].schedule.base.name, joined, asked, tables[0] if len(tables) == 1 else None, troubles)


def space_from_schedule(schedule: Schedule) -> Space:
    """Space of the rows of one schedule with holes; structural choices become variants.

    Raises
    ------
    ScheduleError
        "hole.empty" when no combination of the choices is legal.
    """
    machine = Machine.of(getattr(schedule, "target", None))
    found = list(schedule.variants()) if hasattr(schedule, "variants") else [schedule]
    variants = tuple(Variant(k, s, machine, _by_hand(schedule, s)) for k, s in enumerate(found))
    if not variants:
        raise ScheduleError("hole.empty", "The schedule has no variant that is legal.", ())
    return _space(schedule.func.name, variants, ("schedule",))


def _by_hand(given: Schedule, closed: Schedule) -> tuple[Note, ...]:
    """Say which way the choices went that change the structure."""
    made = [
        f"{new.name}({name}={getattr(new, name)})"
        for old, new in zip(given.trace, closed.trace, strict=True)
        for name in old.open_choices()
    ]
    return (Note("schedule", ", ".join(made) or "holes that were left open by hand", tag=", ".join(made)),)


def _variants(drafts: Sequence[Draft], machine: Machine) -> tuple[Variant, ...]:
    return tuple(Variant(k, d.schedule, machine, d.notes, d.skips, d.limits, d.wishes) for k, d in enumerate(drafts))


def _space(
    name: str,
    variants: tuple[Variant, ...],
    asked: tuple[str, ...],
    knobs: Knobs | None = None,
    troubles: tuple[Trouble, ...] = (),
) -> Space:
    text = json.dumps([v.schedule.to_json() for v in variants], sort_keys=True, default=str)
    name = f"{name}-{hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}"
    return Space(name, variants, asked, troubles, knobs)

"""Running a template: once with everything open, and again for the values of those knobs that have to be known."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import ScheduleError, TemplateError, WorkbenchError, did_you_mean
from workbench.ir import Func
from workbench.ir.poly import holes_of, substitute
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Schedule
from workbench.space.sketch import Draft, Note
from workbench.space.template.config import Config, LeftOut
from workbench.space.template.knobs import Choice
from workbench.space.template.symbolic_knobs import Closed

if TYPE_CHECKING:
    from workbench.space.template.registry import Template

#: Combinations of values that are tried as variants of one space. Chosen, not measured: each is a schedule to make.
MOST_VARIANTS = 64


@dataclass(frozen=True, slots=True)
class TemplateVariant:
    """One variant: what the function made of the values that this run had."""

    draft: Draft
    config: Config


@dataclass(slots=True)
class Expansion:
    """All variants of a template for one computation, and combinations that are none, with the reason."""

    leaves: list[TemplateVariant] = field(default_factory=list)
    left_out: list[tuple[dict[str, Any], str]] = field(default_factory=list)

    @property
    def drafts(self) -> list[Draft]:
        """The schedules."""
        return [leaf.draft for leaf in self.leaves]


@dataclass(slots=True)
class Expander:
    """Follows one template over all combinations."""

    template: Template
    func: Func
    target: Any
    machine: Machine
    fixed: Mapping[str, Any]
    match: Any
    out: Expansion = field(default_factory=Expansion)
    first: WorkbenchError | None = None
    names: dict[str, int] = field(default_factory=dict)

    def expand(self) -> Expansion:
        """Run the function as often as it takes.

        Raises
        ------
        TemplateError
            "template.empty" when no combination gives a schedule, "template.failed" when the function raises what is
            no error of a step, "template.variants", "template.fixed", "template.knob".
        """
        for config, schedule in self._runs({}):
            self._leaf(config, schedule)
        unknown = [n for n in self.fixed if n not in self.names]
        if unknown:
            text = f"Template {self.template.name!r} has no knob {unknown[0]!r}."
            raise TemplateError("template.fixed", text, unknown, did_you_mean(unknown[0], self.names, "knobs"))
        if not self.out.leaves:
            reason = self.out.left_out[0][1] if self.out.left_out else "it made nothing"
            raise TemplateError(
                "template.empty",
                f"Template {self.template.name!r} makes no schedule of {self.func.name}: {reason}",
                (self.template.name, *(self.first.where if self.first else ())),
                self.first.hint if self.first else "",
            ) from self.first
        return self.out

    def _runs(self, values: dict[str, Any]) -> Iterator[tuple[Config, Schedule]]:
        """Run with these values; where the function needs one more, run with each that it may have."""
        schedule = Schedule(self.func, self.target)
        config = Config(schedule, self.machine, self.match, values, self.fixed)
        needed: str | None = None
        try:
            made = self.template.function(config, schedule)
            if isinstance(made, Schedule) and made.base is schedule.base:
                schedule = made  # a branch of the cursor, if the function prefers to give one back
            needed = config.run.needed or _missing(config, schedule)
        except Closed as e:
            needed = e.knob
        except LeftOut as e:
            self._leave_out(values, str(e))
            return
        except ScheduleError as e:
            needed = _last_number(config)  # a step that takes no hole here takes the numbers, or says why not
            if needed is None:
                self._leave_out(values, e.message, e)
                return
        except TemplateError:
            raise
        except Exception as e:
            raise self._failure(e) from e
        finally:
            config.run.running = False
            self.names.update(dict.fromkeys(config.knobs, 1))
        if needed is None:
            yield from ((config, closed) for closed in _closed(schedule))
            return
        candidates = config.knobs[needed].candidates
        if len(candidates) * max(1, len(self.out.leaves) + len(self.out.left_out)) > 64 * MOST_VARIANTS or (
            len(candidates) > MOST_VARIANTS
        ):
            raise self._too_many(needed, len(candidates))
        for value in candidates:
            yield from self._runs({**values, needed: value})

    def _leaf(self, config: Config, schedule: Schedule) -> None:
        summary = self.template.doc.split("\n\n")[0] or self.template.name
        told = [Note("knob", f"{n} = {v}", tag=f"{n}={v}") for n, v in config.values.items()]
        draft = Draft(schedule, (Note("template", summary, tag=self.template.name), *told), closed=True)
        try:
            draft = _with_limits(draft, config, schedule.func)
            if schedule.func.holes and not draft.has_rows():
                raise LeftOut("no numbers fulfil all of its limits")
        except LeftOut as e:
            self._leave_out(config.values, str(e))
        except ScheduleError as e:
            self._leave_out(config.values, e.message, e)
        else:
            self.out.leaves.append(TemplateVariant(draft, config))
        if len(self.out.leaves) + len(self.out.left_out) > MOST_VARIANTS:
            raise self._too_many(", ".join(config.values), len(self.out.leaves))

    def _leave_out(self, values: Mapping[str, Any], reason: str, error: WorkbenchError | None = None) -> None:
        self.first = self.first or error
        self.out.left_out.append((dict(values), reason))

    def _too_many(self, knob: str, many: int) -> TemplateError:
        text = (
            f"Template {self.template.name!r} would have more than {MOST_VARIANTS} variants: {many} come from {knob}."
        )
        hint = "numbers that only steps and limits use are holes; an if, a comparison or a print makes variants"
        return TemplateError("template.variants", text, (self.template.name, knob), hint)

    def _failure(self, error: Exception) -> TemplateError:
        """The function's own exception, with the line that raised it."""
        code = self.template.function.__code__
        frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == code.co_filename]
        path = Path(code.co_filename)
        inside = f"{path.name}, " if path.exists() else ""  # a cell of a notebook is no file
        place = f"{inside}line {frames[-1].lineno}" if frames else code.co_name
        line = f" in `{frames[-1].line}`" if frames and frames[-1].line else ""
        text = f"Template {self.template.name!r} fails{line} ({place}): {type(error).__name__}: {error}"
        hint = error.hint if isinstance(error, WorkbenchError) else "the cause above has its whole traceback"
        return TemplateError("template.failed", text, (self.template.name, place), hint)


def _closed(schedule: Schedule) -> Iterator[Schedule]:
    """The schedule, or what its choices of loops and blocks make of it."""
    return schedule.variants() if any(step.open_choices() for step in schedule.trace) else iter((schedule,))


def _last_number(config: Config) -> str | None:
    """The knob that became a hole last by way of `define_knob`."""
    return next((k.name for k in reversed(config.knobs.values()) if isinstance(k, Choice) and k.holes), None)


def _missing(config: Config, schedule: Schedule) -> str | None:
    """A knob that a limit speaks of, and that is no hole of the schedule."""
    func = schedule.func
    known = {h.name for h in func.holes} | {name for name, _ in func.aliases}
    for constraint, _, knobs in config.limited:
        if not holes_of(constraint.expr) <= known:
            return next((k for k in knobs if not set(config.knobs[k].holes) <= known), None)
    return None


def _with_limits(draft: Draft, config: Config, func: Func) -> Draft:
    aliases = dict(func.aliases)
    for constraint, wish, _ in config.limited:
        expr = substitute(constraint.expr, aliases) if aliases else constraint.expr
        if isinstance(expr, int) and expr < 0 and not wish:
            raise LeftOut(f"{constraint.label}: not so")
        if not isinstance(expr, int):
            draft = draft.limit(constraint.label, expr, wish)
    return draft

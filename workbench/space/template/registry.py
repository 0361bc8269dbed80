"""Templates by name: declaring them, and finding those that fit a computation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any, TypeAlias, TypeVar

from workbench.arguments import is_a
from workbench.errors import TemplateError, WorkbenchError
from workbench.ir import Func
from workbench.machine_model.machine_parameters import Machine
from workbench.registry import Registry
from workbench.space.template.patterns import PATTERNS, Mismatch, Pattern
from workbench.space.template.variant_expansion import Expander, Expansion

TemplateFunction: TypeAlias = Callable[[Any, Any], object]
_T = TypeVar("_T", bound=TemplateFunction)


@dataclass(frozen=True, slots=True)
class Template:
    """A declared template.

    Attributes
    ----------
    name, doc : str
    function : function
        ``function(cfg, s)``.
    pattern : callable, optional
        Function of a `Func` that gives back what `cfg.match` is; raises `Mismatch`, or gives back False, where the
        template does not fit.
    """

    name: str
    doc: str
    function: FunctionType
    pattern: Pattern | None

    def match(self, func: Func) -> Any:
        """Return what the pattern finds in a computation.

        Raises
        ------
        TemplateError
            "template.mismatch" with the reason in words; "template.failed" when the pattern itself raises anything else
            than an error of this package.
        """
        reason = "its pattern says so"
        try:
            found = None if self.pattern is None else self.pattern(func)
        except Mismatch as e:
            found, reason = False, str(e)
        except WorkbenchError as e:  # a block or a loop that it asked for is not there
            found, reason = False, e.message.rstrip(".")
        except Exception as e:
            text = f"The pattern of template {self.name!r} fails for {func.name}: {type(e).__name__}: {e}"
            hint = "it says no by False, or by raising Mismatch with the reason"
            raise TemplateError("template.failed", text, (self.name, func.name), hint) from e
        if found is False:
            text = f"Template {self.name!r} does not fit {func.name}: {reason}."
            raise TemplateError(
                "template.mismatch", text, (self.name, func.name), "templates_for(task) lists what fits"
            )
        return found

    def suits(self, task: Any) -> bool:
        """Whether it is for a task; one without a pattern is for any.

        Raises
        ------
        TemplateError
            "template.failed" when the pattern fails, so that nobody knows.
        """
        try:
            self.match(func_of(task))
        except TemplateError as e:
            if e.code != "template.mismatch":
                raise
            return False
        return True

    def fits(self, task: Any) -> bool:
        """Whether it can be offered for a task: what `suits` says, and no where its pattern fails."""
        try:
            return self.suits(task)
        except TemplateError:
            return False

    def expand(
        self, func: Func, target: Any = None, machine: Machine | None = None, fixed: Mapping[str, Any] | None = None
    ) -> Expansion:
        """All variants of the template for a computation; see `Expander.expand` for what it raises."""
        match = self.match(func)
        return Expander(self, func, target, machine or Machine.of(target), dict(fixed or {}), match).expand()


TEMPLATES: Registry[Template] = Registry("template", "templates", "template.unknown", TemplateError)


def _declare(new: Template) -> None:
    """Add a template. The same function, defined again in a notebook, takes the place of its earlier self."""
    old = TEMPLATES.get(new.name)
    if old is not None and _origin(old) != _origin(new):
        text = f"There is a template {new.name!r} already, {old.function.__qualname__} of {old.function.__module__}."
        raise TemplateError("template.exists", text, (new.name,), "choose another name")
    TEMPLATES[new.name] = new


def _origin(t: Template) -> tuple[str, str]:
    return t.function.__module__, t.function.__qualname__


def template(name: str, matches: str | Pattern | None = None) -> Callable[[_T], _T]:
    """Declare a template: put it over a function ``(cfg, s)`` that schedules `s` and leaves numbers open.

    Parameters
    ----------
    name : str
        What `make_space(task, template=name)` and `tune(task, template=name)` call it.
    matches : str or callable, optional
        The computations that it is for: "matmul", "conv2d_nhwc", "depthwise_conv2d_nhwc", or a function of a `Func`
        that gives back what ``cfg.match`` is to be, and False or `Mismatch` (with a reason) for other computations.
        Without it the template is never offered, and can be used for anything by name.

    Raises
    ------
    TemplateError
        "template.exists" for a name that another function has, "template.unknown" for an unknown pattern.

    Examples
    --------
    >>> @template("rows", matches="matmul")
    ... def rows(cfg, s):
    ...     tile = cfg.define_split("tile_i", cfg.match.i, num_outputs=2, max_factor=8)
    ...     outer, inner = tile.apply(s)
    ...     s.unroll(inner)
    >>> del TEMPLATES["rows"]
    """
    if not is_a("name", name, str):
        raise TemplateError("template.unknown", "A template needs a name.", ("name",), '@template("my_matmul")')
    pattern = PATTERNS.find(matches) if isinstance(matches, str) else matches

    def declare(function: _T) -> _T:
        plain: Any = is_a("the template", function, FunctionType, "put @template(name) over a function (cfg, s)")
        _declare(Template(name, (function.__doc__ or "").strip(), plain, pattern))
        return function

    return declare


def templates_for(task: Any) -> list[Template]:
    """Templates that fit a task (or a bare `Func`), in the order of declaration."""
    return [t for t in TEMPLATES.values() if t.pattern is not None and t.fits(task)]


def func_of(task: Any) -> Func:
    """The computation of a task."""
    func = getattr(task, "func", task)
    return is_a("task", func, Func, "a Task or a Func")

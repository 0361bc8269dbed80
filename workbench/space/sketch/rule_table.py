"""What a sketch rule is, and the table of all rules in the order in which they are applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

from workbench.arguments import is_a
from workbench.errors import ScheduleError, UsageError
from workbench.ir import Block
from workbench.machine_model.machine_parameters import Machine
from workbench.registry import Declarations
from workbench.space.shared_steps.block_queries import main_block, whole_loops
from workbench.space.sketch.draft import Draft, Note, Skip

__all__ = ["RULES", "Draft", "Note", "Rule", "Rules", "Skip", "rule", "sketch_rule", "tiled", "untouched"]

RuleFunction: TypeAlias = Callable[[Draft, Machine], "Draft | Iterable[Draft]"]
Applies: TypeAlias = Callable[[Draft, Machine], "bool | str"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One sketch rule: turns a draft into the drafts that are worth trying.

    Attributes
    ----------
    name, doc : str
    function : callable
        ``function(draft, machine)`` gives one draft or several.
    after : str or None
        The rule that goes before it.
    applies : callable, optional
        ``applies(draft, machine)`` is True where the rule is worth asking; else False, or a sentence that says why not.
    custom : bool
        Whether it comes from outside of this package.
    on : str
        What it is for: ``"cpu"``, ``"gpu"``, ``"accelerator"`` or ``"any"``.
    """

    name: str
    doc: str
    function: RuleFunction
    after: str | None = None
    applies: Applies | None = None
    custom: bool = False
    on: str = "any"

    def fits(self, machine: Machine) -> bool:
        """Whether the rule is for targets of this kind."""
        return self.on in ("any", machine.kind)

    def __call__(self, draft: Draft, machine: Machine) -> Iterable[Draft]:
        """Make the drafts; every one that is left as it is says why."""
        made = self.function(draft, machine)
        return (made,) if isinstance(made, Draft) else made

    def forget(self) -> None:
        """Take a custom rule out of the table again; nothing happens if it is not there."""
        RULES.forget(self)


class Rules(Declarations[Rule]):
    """All rules by name; iterating gives them in the order in which they are applied."""

    def __init__(self) -> None:
        super().__init__("sketch rule", "rules", "space.rules")
        self._order: tuple[Rule, ...] = ()

    def __iter__(self) -> Iterator[Rule]:
        return iter(self._order)

    def add(self, new: Rule) -> None:
        """Add a rule behind the one that it names; a custom one takes the place of an earlier one of its name."""
        old = self._table.get(new.name)
        if old is not None and not (old.custom and new.custom):
            raise UsageError("space.rule_name", f"There is a sketch rule {new.name!r} already.", (new.name,))
        if new.custom and new.after is not None:
            self[new.after]
        self._order = in_order(tuple({**self._table, new.name: new}.values()))
        self._table[new.name] = new

    def forget(self, old: Rule) -> None:
        """Take a custom rule out again."""
        if old.custom and self._table.get(old.name) is old:
            del self._table[old.name]
            self._order = in_order(tuple(self._table.values()))

    def chosen(self, wanted: Sequence[object] | None) -> tuple[Rule, ...]:
        """Rules in order.

        Parameters
        ----------
        wanted : sequence of str or Rule, optional
            All rules when left out, none when empty. Names: these and no others; ``"-name"``: all but these; a `Rule`:
            one more.
        """
        if wanted is None:
            return self._order
        if isinstance(wanted, str | Rule):
            wanted = (wanted,)
        hint = 'rules=["-winograd"] leaves one out'
        wanted = list(is_a("rules", wanted, Iterable, hint, "space.rules"))
        names = [w for w in wanted if isinstance(w, str)]
        more = [w for w in wanted if isinstance(w, Rule)]
        if len(names) + len(more) < len(wanted):
            odd = next(w for w in wanted if not isinstance(w, str | Rule))
            text = f"Rules are names or what sketch_rule made, not {type(odd).__name__}."
            raise UsageError("space.rules", text, ("rules",), hint)
        less = {self[n[1:]].name for n in names if n.startswith("-")}
        only = {self[n].name for n in names if not n.startswith("-")}
        if less and only:
            text = "Rules are either named or left out, not both."
            raise UsageError("space.rules", text, ("rules",), f"without {', '.join(sorted(less))}, or with these alone")
        kept = only if only or not wanted else {r.name for r in self._order} - less
        named = {r.name: r for r in self._order} | {r.name: r for r in more}
        return tuple(r for r in in_order(tuple(named.values())) if r.name in kept or r in more)


def in_order(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Each rule behind the one that it names; custom ones stand directly behind it.

    Raises
    ------
    UsageError
        "space.rules" for rules that would stand behind each other.
    """
    known = {r.name for r in rules}
    behind: dict[str | None, list[Rule]] = {}
    for r in sorted(rules, key=lambda r: not r.custom):
        behind.setdefault(r.after if r.after in known else None, []).append(r)
    out: list[Rule] = []

    def visit(name: str | None) -> None:
        for r in behind.get(name, ()):
            out.append(r)
            visit(r.name)

    visit(None)
    if len(out) < len(rules):
        lost = sorted(known - {r.name for r in out})
        text = f"Of the sketch rules {', '.join(lost)} each would stand behind another one."
        raise UsageError("space.rules", text, lost, "let one of them name a rule of the package, or none")
    return tuple(out)


RULES = Rules()

_R = TypeVar("_R", bound=Callable[..., Iterable[Draft]])


def rule(
    name: str, after: str | None, about: Callable[[Draft], Block] | None = None, on: str = "cpu"
) -> Callable[[_R], _R]:
    """Declare a rule of this package; it is applied right after the one that it names.

    What the function raises before its first draft, `Skip` or an error of a step, says why the draft stays as it is.

    Parameters
    ----------
    name : str
    after : str, optional
    about : callable, optional
        Finds the block that the rule is about (`tiled` or `untouched`): the third argument of its function.
    on : {"cpu", "gpu", "accelerator", "any"}
        Targets that it is for.
    """

    def register(fn: _R) -> _R:
        def asked(draft: Draft, machine: Machine) -> Iterator[Draft]:
            try:
                subject = () if about is None else (about(draft),)
            except Skip as e:
                yield draft.skip(name, e.message, *e.blocks)
                return
            made = False
            try:
                for new in fn(draft, machine, *subject):
                    made = True
                    yield new
            except (Skip, ScheduleError) as e:
                if not made:
                    blocks = e.blocks if isinstance(e, Skip) and e.blocks else [b.name for b in subject]
                    yield draft.skip(name, e.message, *blocks)

        RULES.add(Rule(name, _doc(fn), asked, after, on=on))
        return fn

    return register


def tiled(draft: Draft) -> Block:
    """The block that the tiling rule has taken."""
    if draft.main is None:
        raise Skip("no block is tiled")
    return draft.func.block(draft.main)[0]


def untouched(draft: Draft) -> Block:
    """The reduction that does most of the work, where no rule has scheduled it yet."""
    block = main_block(draft.func, draft.focus)
    if block is None:
        raise Skip("nothing is reduced")
    if block.name in draft.done or not whole_loops(draft.func, block):
        raise Skip("another rule has scheduled it", block.name)
    return block


def sketch_rule(name: str, after: str | None = None, applies: Applies | None = None) -> Callable[[RuleFunction], Rule]:
    """Declare a sketch rule: from then on it takes part in every space that is made.

    Parameters
    ----------
    name : str
        Shown by `Space.explain`; a second declaration of a custom rule takes the place of the first.
    after : str, optional
        The rule behind which it is applied (``"tile"``); first of all when left out.
    applies : callable, optional
        ``applies(draft, machine)``: True where it is worth asking, else False or a sentence that says why not.

    Returns
    -------
    callable
        Decorator of ``rule(draft, machine)``, which returns a draft or several: ``draft.change(name, reason,
        schedule)`` with what it made of ``draft.schedule.copy()``, or ``draft.skip(name, reason)``. A primitive that is
        not legal may raise: the rule is then left out with the primitive's own sentence. Rows of every draft are as
        legal as the primitives that made it. Whatever else it raises, a draft without a legal row, and a draft that it
        makes twice are told in a warning with its name and by `Space.explain`, and cost nothing but that draft. The
        decorator gives back a `Rule`; its `forget` takes it out again.

    Raises
    ------
    UsageError
        "space.rule_name" for the name of one of the package's own rules or no name, "space.rules" when there is no rule
        `after`, or when it stands behind this one itself.

    Examples
    --------
    >>> @sketch_rule("near", after="tile", applies=lambda draft, machine: draft.main is not None)
    ... def near(draft, machine):
    ...     s = draft.schedule.copy()
    ...     s.annotate(draft.outer[-1], "prefetch", 1)
    ...     return [draft.skip("near", "this form waits"), draft.change("near", "the next block is asked for", s)]
    >>> near.forget()
    """
    if not is_name(name):
        raise UsageError("space.rule_name", f"A sketch rule needs a name, not {name!r}.", ("name",))

    def register(fn: RuleFunction) -> Rule:
        made = Rule(name, _doc(fn), fn, after, applies, custom=True)
        RULES.add(made)
        return made

    return register


def is_name(name: object) -> bool:
    """Whether a rule can be called so: any text that `Rules.chosen` would not take for "all but this one"."""
    return isinstance(name, str) and name.strip() != "" and not name.startswith("-")


def _doc(fn: RuleFunction) -> str:
    return (fn.__doc__ or "").strip()

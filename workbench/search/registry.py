"""Which strategies there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.cost_model import CostModel
from workbench.errors import UsageError, did_you_mean
from workbench.search.base import Search, SearchOptions

if TYPE_CHECKING:
    from workbench.space.space import Space


@dataclass(frozen=True, slots=True)
class Strategy:
    """One declared strategy: its name, what it does in a sentence, and how it is made."""

    name: str
    doc: str
    make: type[Search]


SEARCHES: dict[str, Strategy] = {}
_S = TypeVar("_S", bound=type[Search])


def strategy(name: str) -> Callable[[_S], _S]:
    """Declare a search strategy; the first line of the class's text says what it does."""

    def register(cls: _S) -> _S:
        cls.name = name
        SEARCHES[name] = Strategy(name, (cls.__doc__ or "").strip().splitlines()[0], cls)
        return cls

    return register


def make_search(
    name: str, task: Any, space: Space, model: CostModel, seed: int = 0, options: SearchOptions | None = None
) -> Search:
    """Search by the name of its strategy; see `SEARCHES`.

    Raises
    ------
    UsageError
        "usage.search" for a name that is not declared.
    """
    found = SEARCHES.get(name)
    if found is None:
        hint = did_you_mean(name, SEARCHES)
        raise UsageError("usage.search", f"There is no search strategy {name!r}.", (str(name),), hint)
    return found.make(task, space, model, seed, options)

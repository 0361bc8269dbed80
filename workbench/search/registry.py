"""Which strategies there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from workbench.cost_model import Scorer
from workbench.registry import Registry
from workbench.search.base import Search, SearchOptions

if TYPE_CHECKING:
    from workbench.space.space import Space


SEARCHES: Registry[type[Search]] = Registry("search strategy", "strategies", "usage.search")
_S = TypeVar("_S", bound=type[Search])


def strategy(name: str) -> Callable[[_S], _S]:
    """Declare a search strategy; the first line of the class's text says what it does."""

    def register(cls: _S) -> _S:
        cls.name = name
        SEARCHES[name] = cls
        return cls

    return register


def make_search(
    name: str, task: Any, space: Space, model: Scorer, seed: int = 0, options: SearchOptions | None = None
) -> Search:
    """Search by the name of its strategy; see `SEARCHES`.

    Raises
    ------
    UsageError
        "usage.search" for a name that is not declared.
    """
    return SEARCHES.find(name)(task, space, model, seed, options)

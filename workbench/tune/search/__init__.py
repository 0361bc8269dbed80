"""Searches over a space, by asking and telling; one declaration per strategy."""

from __future__ import annotations

from workbench.tune.search.base import (
    SEARCHES,
    Candidate,
    Quality,
    Search,
    SearchOptions,
    Strategy,
    make_search,
    strategy,
)
from workbench.tune.search.evolutionary import EvolutionarySearch

__all__ = [
    "SEARCHES",
    "Candidate",
    "EvolutionarySearch",
    "Quality",
    "Search",
    "SearchOptions",
    "Strategy",
    "make_search",
    "strategy",
]

"""Searches over a space, by asking and telling; one declaration per strategy."""

from __future__ import annotations

from workbench.tune.cost_model import Quality
from workbench.tune.search.base import Candidate, Search, SearchOptions
from workbench.tune.search.descent import DescentSearch
from workbench.tune.search.evolutionary import EvolutionarySearch
from workbench.tune.search.random import RandomSearch
from workbench.tune.search.registry import SEARCHES, Strategy, make_search, strategy

__all__ = [
    "SEARCHES",
    "Candidate",
    "DescentSearch",
    "EvolutionarySearch",
    "Quality",
    "RandomSearch",
    "Search",
    "SearchOptions",
    "Strategy",
    "make_search",
    "strategy",
]

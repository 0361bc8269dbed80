"""Searches over a space, by asking and telling; one declaration per strategy."""

from __future__ import annotations

from workbench.cost_model import Quality
from workbench.search.base import Candidate, Search, SearchOptions
from workbench.search.descent import DescentSearch
from workbench.search.evolutionary import EvolutionarySearch
from workbench.search.random import RandomSearch
from workbench.search.registry import SEARCHES, make_search, strategy

__all__ = [
    "SEARCHES",
    "Candidate",
    "DescentSearch",
    "EvolutionarySearch",
    "Quality",
    "RandomSearch",
    "Search",
    "SearchOptions",
    "make_search",
    "strategy",
]

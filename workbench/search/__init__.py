"""Searches over a space, by asking and telling.

`base` has what all strategies share, `strategies` one module for each, `seeds` and `transfer` what earlier runs know.
Imports `cost_model`, `space` and below.
"""

from __future__ import annotations

from workbench.cost_model import Quality
from workbench.search.base import Candidate, Search, SearchOptions
from workbench.search.registry import SEARCHES, make_search, strategy
from workbench.search.strategies.descent import DescentSearch
from workbench.search.strategies.evolutionary import EvolutionarySearch
from workbench.search.strategies.random import RandomSearch

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

"""Small wrong changes to the rewrites, to what makes them legal, and to the code generator; the suite must see each."""

from __future__ import annotations

import primitives

from property.mutation import Mutation, install
from property.mutations_code import CODE
from property.mutations_data import DATA
from property.mutations_loops import LOOPS
from property.mutations_picks import PICKS
from property.mutations_placement import PLACEMENT

MUTATIONS: tuple[Mutation, ...] = (
    *LOOPS, *PLACEMENT, *DATA, *CODE, *PICKS,
    *(m for own in primitives.given("MUTATIONS", ()).values() for m in own),
)  # fmt: skip

__all__ = ["MUTATIONS", "Mutation", "install"]

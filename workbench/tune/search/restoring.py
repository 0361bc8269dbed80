"""From a log back to what a search was told."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workbench.errors import WorkbenchError
from workbench.tune.cost_model.quality import PROPOSED_ELSEWHERE
from workbench.tune.features import COLUMNS

if TYPE_CHECKING:
    from workbench.tune.record import Record
    from workbench.tune.space import Space


@dataclass(frozen=True, slots=True)
class Told:
    """One trial as a search was told about it.

    Attributes
    ----------
    key : str
    latency_ms : float or None
        None for a failed trial.
    predicted : float
        What `held_out` says of the prediction.
    """

    variant: int
    row: Mapping[str, int]
    key: str
    x: NDArray[np.float32]
    latency_ms: float | None
    predicted: float
    round: int


def told(records: Sequence[Record], space: Space, featured: bool) -> list[Told]:
    """Trials of rows of a space, and of seeds that are none, in the order of the log.

    Parameters
    ----------
    records : sequence of Record
        Of the space's task.
    space : Space
    featured : bool
        Whether features are wanted.
    """
    x = np.zeros((len(records), len(COLUMNS)), np.float32)
    places: dict[int, list[int]] = {}
    for k, r in enumerate(records):
        if _inside(r, space):
            places.setdefault(r.variant, []).append(k)
    kept: set[int] = set()
    for index, at in places.items():
        variant = space.variants[index]
        found = [(k, p) for k in at if (p := variant.sampler.find(records[k].row)) is not None]
        if found and featured:
            x[[k for k, _ in found]] = variant.features(np.stack([p for _, p in found]))
        kept |= {k for k, _ in found}
    for k, r in enumerate(records):
        if r.variant < 0 and getattr(r, "origin", "") == "seed" and (own := _by_hand(r, space, featured)) is not None:
            x[k] = own
            kept.add(k)
    return [_told(records[k], x[k]) for k in sorted(kept)]


def rounds(trials: Iterable[Told]) -> list[list[Told]]:
    """Trials of each round, in the order of their first ones."""
    out: dict[int, list[Told]] = {}
    for t in trials:
        out.setdefault(t.round, []).append(t)
    return list(out.values())


def held_out(predicted: float | None, origin: str) -> float:
    """The prediction as a proof of the model's quality: NaN where there was none, or where no search made the choice."""
    return math.nan if predicted is None or origin in PROPOSED_ELSEWHERE else predicted


def _inside(r: Record, space: Space) -> bool:
    return 0 <= r.variant < len(space.variants) and getattr(r, "space", space.id) == space.id


def _by_hand(r: Record, space: Space, featured: bool) -> NDArray[np.float32] | None:
    """Features of a concrete schedule that was a seed; None where its trace does not apply any more."""
    from workbench.schedule import Schedule
    from workbench.tune.seeds import features_of

    first = space.variants[0]
    if not featured:
        return np.zeros(len(COLUMNS), np.float32)
    try:
        s = Schedule.from_json(first.schedule.base, list(r.trace), first.schedule.target)
    except WorkbenchError:
        return None
    return features_of(s, first.machine)


def _told(r: Record, x: NDArray[np.float32]) -> Told:
    guess = held_out(getattr(r, "predicted", None), getattr(r, "origin", ""))
    ms = r.latency_ms if r.ok else None
    return Told(r.variant, r.row, r.key, x, ms, guess, getattr(r, "round", 0))

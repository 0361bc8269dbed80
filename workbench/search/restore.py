"""From a log back to what a search was told."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from workbench.cost_model.prediction_quality import PROPOSED_ELSEWHERE
from workbench.machine_model.features import COLUMNS
from workbench.search.seeds import applied, features_of
from workbench.space.program_keys import program_key

if TYPE_CHECKING:
    from workbench.log import Record
    from workbench.space.space import Space


@dataclass(frozen=True, slots=True)
class RestoredTrial:
    """One trial as a search was told about it.

    Attributes
    ----------
    key : str
    latency_ms : float or None
        None for a failed trial.
    predicted : float
        What `held_out` says of the prediction.
    known : int
        Its key as it is worked out now.
    alone : bool
        Whether it was told as soon as it was measured: a candidate by hand is, whatever else its round has tried.
    """

    variant: int
    row: Mapping[str, int]
    key: str
    x: NDArray[np.float32]
    latency_ms: float | None
    predicted: float
    round: int
    known: int
    alone: bool


def restored_trials(records: Sequence[Record], space: Space, featured: bool) -> list[RestoredTrial]:
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
    keys: dict[int, int] = {}
    for index, at in places.items():
        variant = space.variants[index]
        found = [(k, p) for k in at if (p := variant.sampler.find(records[k].row)) is not None]
        if not found:
            continue
        rows, picks = [k for k, _ in found], np.stack([p for _, p in found])
        keys.update(zip(rows, map(int, variant.keys(picks)), strict=True))
        if featured:
            x[rows] = variant.features(picks)
    for k, r in enumerate(records):
        if (
            r.variant < 0
            and getattr(r, "origin", "") == "seed"
            and (s := applied(r.trace, space.variants[0].schedule.base, space)) is not None
        ):
            keys[k] = int(program_key(s.func), 16)
            if featured:
                x[k] = features_of(s, space.variants[0].machine)
    return [_restored(records[k], x[k], keys[k]) for k in sorted(keys)]


def rounds(trials: Iterable[RestoredTrial]) -> list[list[RestoredTrial]]:
    """Trials as they were told together: of each round, those by hand one by one, then all others."""
    out: dict[int, list[list[RestoredTrial]]] = {}
    for t in trials:
        *alone, others = out.setdefault(t.round, [[]])
        if t.alone:
            out[t.round] = [*alone, [t], others]
        else:
            others.append(t)
    return [batch for batches in out.values() for batch in batches if batch]


def held_out(predicted: float | None, origin: str) -> float:
    """The prediction as a proof of the model's quality: NaN where there was none, or no search made the choice."""
    return math.nan if predicted is None or origin in PROPOSED_ELSEWHERE else predicted


def _inside(r: Record, space: Space) -> bool:
    return 0 <= r.variant < len(space.variants) and getattr(r, "space", space.id) == space.id


def _restored(r: Record, x: NDArray[np.float32], known: int) -> RestoredTrial:
    origin = getattr(r, "origin", "")
    guess, ms = held_out(getattr(r, "predicted", None), origin), r.latency_ms if r.ok else None
    return RestoredTrial(r.variant, r.row, r.key, x, ms, guess, getattr(r, "round", 0), known, origin == "manual")

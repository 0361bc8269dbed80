"""What every search does alike: the protocol of asking and telling, what has been measured, and what is allowed.

A strategy is one class under `@strategy(name)` that proposes rows (`Search._propose`). Everything else is here: no
program is proposed twice, measurements reach the model, seeds go first, pins and forbids hold for all proposals that
follow, and the state follows from the seed and the measurements alone, so that it can be had again from a log.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.arguments import real
from workbench.errors import UsageError, did_you_mean
from workbench.tune.cost_model import CostModel, HeldOut
from workbench.tune.sample import Picks
from workbench.tune.search.restrict import Restriction, restricted

if TYPE_CHECKING:
    from workbench.schedule import Schedule
    from workbench.tune.record import Record
    from workbench.tune.seeds import Seed
    from workbench.tune.space import Space, Variant


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed program: a row of one variant, or a schedule by hand.

    Attributes
    ----------
    variant : int
        -1 when it is no row of the space; then `schedule` is set.
    key : str
        Structural key of the filled program; equal keys are the same program.
    predicted : float or None
        The model's score: log2 of operations per cycle, as far as it knows.
    parent, mutation : str or None
        Key of the program that it was derived from, and what was changed in it (for a seed: what was adapted).
    schedule : Schedule or None
        The concrete schedule of a candidate that is no row of the space.
    """

    variant: int
    row: Mapping[str, int]
    origin: str
    predicted: float | None
    key: str
    parent: str | None = None
    mutation: str | None = None
    schedule: Schedule | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How much a search tries.

    Parameters
    ----------
    pool : int
        Rows kept over all variants.
    generations, children : int
        Breeding steps of one `ask`, and rows bred per step.
    epsilon : float
        Share of proposals drawn at random.
    """

    pool: int = 4096
    generations: int = 2
    children: int = 256
    epsilon: float = 0.08


@dataclass(frozen=True, slots=True)
class Quality:
    """How well the predictions of the last rounds agree with the measurements that came after them.

    Attributes
    ----------
    tau, spearman : float or None
        Rank correlations over pairs of one round; None before anything can be compared.
    """

    tau: float | None = None
    spearman: float | None = None


class Search:
    """Search of one task.

    Parameters
    ----------
    task
        Has `key` and `flops`.
    space : Space
    model : CostModel
        May be shared with the searches of other tasks.
    seed : int
        The proposals follow from the seed and the measurements alone.
    options : SearchOptions, optional
    """

    name: ClassVar[str] = "search"

    def __init__(
        self, task: Any, space: Space, model: CostModel, seed: int, options: SearchOptions | None = None
    ) -> None:
        self.space, self.model, self.seed_number = space, model, seed
        self.options = options or SearchOptions()
        self.epsilon = self.options.epsilon
        self.held_out = HeldOut()
        self._task = task
        self._variants: tuple[Variant | None, ...] = space.variants
        self._known: set[int] = set()
        self._pending: dict[str, NDArray[np.float32]] = {}
        self._best: list[tuple[float, int, Mapping[str, int]]] = []
        self._seeds: list[Seed] = []
        self._rounds: list[tuple[list[float], list[float]]] = []

    # ---- the protocol ----

    def ask(self, n: int) -> list[Candidate]:
        """Propose up to `n` new programs, best first; fewer when the space has no more."""
        if n <= 0:
            return []
        rng = np.random.default_rng([self.seed_number, len(self._known)])
        out = self._from_seeds(n)
        if len(out) < n:
            out += self._keep(self._propose(n - len(out), rng))
        return out

    def tell(self, results: Sequence[tuple[Candidate, Any]]) -> None:
        """Take measurements: an object with `status` and `min_ms` for each candidate.

        A cancelled candidate counts as never proposed.
        """
        xs, speeds, predicted = [], [], []
        for candidate, measurement in results:
            x = self._pending.pop(candidate.key, None)
            if measurement.status == "cancelled":
                self._known.discard(number(candidate.key))
            elif x is not None:
                speed = self._speed(measurement.min_ms if measurement.status == "ok" else None)
                self._remember(speed, candidate.variant, candidate.row)
                xs.append(x)
                speeds.append(speed)
                predicted.append(math.nan if candidate.predicted is None else candidate.predicted)
        if xs:
            self.held_out.observe(predicted, speeds)
            self._rounds = [*self._rounds[-7:], (predicted, speeds)]
            self.model.update(self._task.key, np.stack(xs), np.array(speeds))

    def restore(self, records: Sequence[Record]) -> None:
        """Take measurements from a log, as if they had been told."""
        by_variant: dict[int, list[Record]] = {}
        for r in records:
            if r.status == "cancelled":
                continue
            if r.key:
                self._known.add(number(r.key))
            if 0 <= r.variant < len(self.space.variants) and getattr(r, "space", self.space.id) == self.space.id:
                by_variant.setdefault(r.variant, []).append(r)
        xs, speeds = [], []
        for index, group in by_variant.items():
            variant = self.space.variants[index]
            found = [(r, p) for r in group if (p := variant.sampler.find(r.row)) is not None]
            if found:
                xs.append(variant.features(np.stack([p for _, p in found])))
                speeds += [self._speed(r.latency_ms if r.ok else None) for r, _ in found]
                for r, _ in found:
                    self._remember(self._speed(r.latency_ms if r.ok else None), index, r.row)
        if xs:
            self.model.update(self._task.key, np.concatenate(xs), np.array(speeds))

    def seed(self, seeds: Iterable[Seed]) -> None:
        """Take programs to propose before all others; those that are known are left out when their turn comes."""
        self._seeds += list(seeds)

    def restrict(
        self,
        pins: Mapping[str, int] | None = None,
        forbids: Mapping[str, Collection[int]] | None = None,
        variants: Collection[int] = (),
    ) -> None:
        """Hold all later proposals to these values; takes the place of earlier restrictions.

        Parameters
        ----------
        pins : mapping of hole to value
            A pin holds in the variants that have the hole.
        forbids : mapping of hole to values
        variants : collection of int
            Variants that must not be proposed.

        Raises
        ------
        UsageError
            "steer.hole", "steer.value", "steer.variant" or "steer.empty" when nothing in the space meets it; the
            search then goes on as before.
        """
        self._variants = restricted(self.space.variants, Restriction.of(pins, forbids, variants))
        self._pools_changed()

    @property
    def epsilon(self) -> float:
        """Share of proposals that are drawn at random."""
        return self._epsilon

    @epsilon.setter
    def epsilon(self, value: float) -> None:
        share = real("epsilon", value, code="usage.epsilon")
        if not 0.0 <= share <= 1.0:
            raise UsageError("usage.epsilon", f"epsilon is a share from 0 to 1, not {share:g}", ("epsilon",))
        self._epsilon = share

    @property
    def quality(self) -> Quality:
        """How well the model's predictions of the last rounds were confirmed."""
        return Quality(self.held_out.correlation(), _spearman(self._rounds))

    # ---- for strategies ----

    def _propose(self, n: int, rng: np.random.Generator) -> list[tuple[Candidate, NDArray[np.float32]]]:
        """Return up to `n` new candidates with their features, best first."""
        raise NotImplementedError

    def _pools_changed(self) -> None:
        """The variants were restricted: rows drawn before count no more."""

    def _find(self, variant: int, row: Mapping[str, int]) -> Picks | None:
        """Picks of a row in its variant as it is restricted now, or None."""
        found = self._variants[variant]
        return None if found is None else found.sampler.find(row)

    def _keep(self, chosen: Iterable[tuple[Candidate, NDArray[np.float32]]]) -> list[Candidate]:
        out = []
        for candidate, x in chosen:
            self._known.add(number(candidate.key))
            self._pending[candidate.key] = x
            out.append(candidate)
        return out

    def _from_seeds(self, n: int) -> list[Candidate]:
        taken: list[tuple[Candidate, NDArray[np.float32]]] = []
        rest = list(self._seeds)
        while rest and len(taken) < n:
            seed = rest.pop(0)
            fits = seed.variant < 0 or self._find(seed.variant, seed.row) is not None
            fresh = number(seed.key) not in self._known and all(seed.key != c.key for c, _ in taken)
            if fits and fresh:
                score = float(self.model.predict(seed.x[None])[0])
                candidate = Candidate(
                    seed.variant, seed.row, "seed", score, seed.key, seed.parent, seed.note, seed.schedule
                )
                taken.append((candidate, seed.x))
        self._seeds = rest
        return self._keep(taken)

    def _speed(self, ms: float | None) -> float:
        return math.log2(max(self._task.flops, 1) / (ms * 1e6)) if ms is not None and ms > 0 else math.nan

    def _remember(self, speed: float, variant: int, row: Mapping[str, int]) -> None:
        if variant >= 0 and math.isfinite(speed):
            self._best.append((speed, variant, row))
            self._best.sort(key=lambda b: -b[0])
            del self._best[256:]


# ---------------------------------------------------------------------------------------------------------- registry


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


# ----------------------------------------------------------------------------------------------------------- numbers


def text(key: int) -> str:
    """Key of a candidate as it stands in the log."""
    return f"{key:016x}"


def number(key: str) -> int:
    """Number of a structural key; a key of another kind (a default schedule's) stands for nothing here."""
    try:
        return int(key, 16)
    except ValueError:
        return 0


def _spearman(rounds: Sequence[tuple[list[float], list[float]]]) -> float | None:
    """Mean of the rounds' rank correlations, weighted by their sizes."""
    total, weight = 0.0, 0
    for predicted, speed in rounds:
        a, b = np.array(predicted), np.array(speed)
        ok = np.isfinite(a) & np.isfinite(b)
        if ok.sum() < 3 or np.ptp(a[ok]) == 0 or np.ptp(b[ok]) == 0:
            continue
        total += float(np.corrcoef(_ranks(a[ok]), _ranks(b[ok]))[0, 1]) * int(ok.sum())
        weight += int(ok.sum())
    return total / weight if weight else None


def _ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Ranks from 0; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts + 1) / 2)[inverse], np.float64)


__all__ = [
    "SEARCHES", "Candidate", "Quality", "Search", "SearchOptions", "Strategy", "make_search", "number",
    "strategy", "text",
]  # fmt: skip

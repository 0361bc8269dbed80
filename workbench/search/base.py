"""What every search does alike: the protocol of asking and telling, what has been measured, and what is allowed.

A strategy is one class under `@strategy(name)` that proposes rows (`Search._propose`). Everything else is here: no
program is proposed twice, measurements reach the model, seeds go first, pins and forbids hold for all proposals that
follow. The state follows from the seed, the measurements in their order and the restriction alone, so that a log gives
it back; whatever is remembered beyond that could be worked out again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.arguments import share
from workbench.cost_model import Matrix, Quality, Scorer, Scores
from workbench.search.history import History, MeasuredRow, log_speed
from workbench.search.population import AllowedVariants, Rows, distinct
from workbench.search.restore import held_out, restored_trials, rounds
from workbench.search.restriction import Restriction, restricted
from workbench.space.program_keys import Keys
from workbench.space.sampling import Picks

if TYPE_CHECKING:
    from workbench.log import Record
    from workbench.schedule import Schedule
    from workbench.search.seeds import Seed
    from workbench.space.space import Space

_T = TypeVar("_T")


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
    model : str or None
        Version of the model that gave it; the model may have learned more until the candidate is measured.
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
    model: str | None = None


#: A candidate and its features, as strategies return them.
Proposal = tuple[Candidate, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How much a search tries.

    Parameters
    ----------
    pool : int
        Rows that are drawn over all variants.
    generations, children : int
        Breeding steps of one `ask`, and rows bred per step.
    epsilon : float
        Share of proposals drawn at random, from the first told measurement on.
    """

    pool: int = 4096
    generations: int = 1
    children: int = 256
    epsilon: float = 0.08


class Search:
    """Search of one task.

    Parameters
    ----------
    task
        Has `key` and `flops`.
    space : Space
    model : Scorer
        Any cost model; may be shared with the searches of other tasks.
    seed : int
        The proposals follow from the seed and the measurements alone.
    options : SearchOptions, optional

    Attributes
    ----------
    learns : bool
        Whether the strategy has any use for the model.
    """

    name: ClassVar[str] = "search"
    learns: ClassVar[bool] = True
    #: Rounds of a log that are told to the model one by one; of more, a resumed run would wait for seconds. Chosen.
    EXACT_ROUNDS: ClassVar[int] = 64

    def __init__(
        self, task: Any, space: Space, model: Scorer, seed: int = 0, options: SearchOptions | None = None
    ) -> None:
        self.space, self.model, self.seed_number = space, model, seed
        self.options = options or SearchOptions()
        self.epsilon = self.options.epsilon
        self.history = History()
        self.allowed = AllowedVariants(space.variants)
        self._task = task
        self._known: set[int] = set()
        self._pending: dict[str, NDArray[np.float32]] = {}
        self._seeds: list[Seed] = []
        self._planted: dict[str, Seed] = {}
        self._memory: dict[str, dict[Any, Any]] = {}

    # ---- the protocol ----

    def ask(self, n: int) -> list[Candidate]:
        """Propose up to `n` new programs, best first; fewer when the space has no more."""
        if n <= 0:
            return []
        out = self._keep(self._from_seeds(n))
        if len(out) < n and self.allowed.live:
            rng = np.random.default_rng([self.seed_number, len(self._known)])
            out += self._keep(self._propose(n - len(out), rng))
        return out

    def tell(self, results: Sequence[tuple[Candidate, Any]]) -> None:
        """Take measurements: an object with `status` and `ms` for each candidate.

        A cancelled candidate counts as never proposed; a seed waits for its turn again.
        """
        again: list[Seed] = []
        xs, speeds, predicted = [], [], []
        for candidate, measurement in results:
            x = self._pending.pop(candidate.key, None)
            seed = self._planted.pop(candidate.key, None)
            if measurement.status == "cancelled":
                if x is not None:
                    self._known.discard(number(candidate.key))
                again += [seed] if seed is not None else []
            elif x is not None:
                speed = self._speed(measurement.ms if measurement.status == "ok" else None)
                self.history.observe(speed, candidate.variant, candidate.row, number(candidate.key), x)
                xs.append(x)
                speeds.append(speed)
                predicted.append(held_out(candidate.predicted, candidate.origin))
        self._seeds = again + self._seeds
        self._judge(xs, predicted, speeds)
        if xs and self.learns:
            self.model.update(self._task.key, np.stack(xs), np.array(speeds))

    def restore(self, records: Sequence[Record]) -> None:
        """Take the task's measurements from a log, as if they had been told; best before the first `ask`.

        Records of other spaces, and schedules that are no rows, count as known programs; `seeds` makes more of them.
        """
        kept = [r for r in records if r.status != "cancelled"]
        trials = restored_trials(kept, self.space, self.learns)
        # The key that a program has now may not be the one that another version gave it.
        self._known |= {number(r.key) for r in kept if r.key} | {t.known for t in trials}
        self._known.discard(0)
        batches = rounds(trials)
        for batch in batches:
            guesses, speeds = [t.predicted for t in batch], [self._speed(t.latency_ms) for t in batch]
            for t, speed in zip(batch, speeds, strict=True):
                self.history.observe(speed, t.variant, t.row, number(t.key), t.x)
            self._judge([t.x for t in batch], guesses, speeds)
        if not self.learns or not trials:
            return
        # Rounds one by one make the model that there was; many of them would take too long, and what other tasks
        # have told it meanwhile is not known here.
        exact = len(batches) <= self.EXACT_ROUNDS and not getattr(self.model, "own_rows", 0)
        for batch in batches if exact else [trials]:
            speeds = [self._speed(t.latency_ms) for t in batch]
            self.model.update(self._task.key, np.stack([t.x for t in batch]), np.array(speeds))

    def compared(self, winner: str, losers: Iterable[str]) -> None:
        """Take the outcome of a comparison, by keys: the losers rank behind the winner, whatever their trials said.

        May come before the trials themselves are told.
        """
        behind = {number(key) for key in losers if key != winner}
        if self.history.beaten.get(number(winner)) in behind:  # the newer comparison holds
            del self.history.beaten[number(winner)]
        self.history.beaten.update(dict.fromkeys(behind, number(winner)))

    def seed(self, seeds: Iterable[Seed]) -> None:
        """Take programs to propose before all others; those that are known are left out when their turn comes.

        A row that a restriction rules out waits until it is lifted. A schedule that is no row of the space has no hole
        that could be held, so it comes as it is.
        """
        self._seeds += list(seeds)

    def restrict(
        self,
        pins: Mapping[str, int] | None = None,
        forbids: Mapping[str, Collection[int]] | None = None,
        variants: Collection[int] = (),
    ) -> None:
        """Hold all later proposals to these values, seeds that are rows included; takes the place of earlier ones.

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
        self.allowed = AllowedVariants(restricted(self.space.variants, Restriction.of(pins, forbids, variants)))
        self._memory = {}

    @property
    def epsilon(self) -> float:
        """Share of proposals that are drawn at random."""
        return self._epsilon

    @epsilon.setter
    def epsilon(self, value: float) -> None:
        self._epsilon = share("epsilon", value, "usage.epsilon")

    @property
    def quality(self) -> Quality:
        """How well the model's predictions of the last rounds were confirmed."""
        return self.history.quality

    # ---- for strategies ----

    def _propose(self, n: int, rng: np.random.Generator) -> list[Proposal]:
        """Return up to `n` new candidates with their features, best first."""
        raise NotImplementedError

    def known_keys(self) -> Keys:
        """Keys of what was measured or is being measured."""
        return np.fromiter(self._known, np.uint64, len(self._known))

    def score(self, rows: Rows) -> Scores:
        """The model's scores, or what it hopes for where it knows how unsure it is."""
        ask: Callable[[Matrix], Scores] = getattr(self.model, "hope", None) or self.model.predict
        return ask(rows.x) if len(rows) else np.zeros(0)

    def remembered(self, kind: str, key: Any, work: Callable[[], _T], most: int = 96) -> _T:
        """What `work` gives, worked out once; forgotten when the restriction changes, or as the oldest of `most`."""
        memory = self._memory.setdefault(kind, {})
        value: _T = memory.pop(key) if key in memory else work()
        memory[key] = value
        if len(memory) > most:
            memory.pop(next(iter(memory)))
        return value

    def sample(self, epoch: int) -> Rows:
        """Rows of all variants; another sample after every `epoch` programs."""
        index = len(self._known) // epoch

        def work() -> Rows:
            rng = np.random.default_rng([self.seed_number, index, 1])
            return self.allowed.rows(*self.allowed.draw(self.options.pool, rng), np.zeros(0, np.uint64))

        return self.remembered("sample", index, work, 1)

    def placed(self, most: int) -> list[tuple[MeasuredRow, Picks]]:
        """The fastest measured rows that are still allowed, with their padded picks."""
        out = []
        for best in self.history.ranked():
            picks = self.remembered("picks", best.number, partial(self._place, best), 1024)
            if picks is not None:
                out.append((best, picks))
                if len(out) == most:
                    break
        return out

    def _place(self, best: MeasuredRow) -> Picks | None:
        variant = self.allowed.variants[best.variant]
        found = None if variant is None else variant.sampler.find(best.row)
        return None if found is None else self.allowed.wide(found[None])[0]

    def neighbourhood(self, best: MeasuredRow, picks: Picks) -> Rows:
        """All rows one step away from a measured one."""

        def work() -> Rows:
            near, how = self.allowed.around(best.variant, picks)
            owner, parent = np.full(len(near), best.variant), np.full(len(near), best.number, np.uint64)
            return self.allowed.rows(owner, near, parent[:1], parent, how)

        return self.remembered("near", best.number, work)

    def leftovers(self, n: int, taken: Iterable[Proposal], rng: np.random.Generator) -> list[Proposal]:
        """What is left of the space when the usual ways find nothing new, the model's favourites first."""
        known = np.concatenate([self.known_keys(), np.array([number(c.key) for c, _ in taken], np.uint64)])
        owner, picks = self.allowed.every(2048, rng)
        keys = self.allowed.keys(owner, picks)
        fresh = rng.permutation(distinct(keys, known))[: 16 * n]
        if not self.learns:
            rows = Rows.bare(owner[fresh[:n]], picks[fresh[:n]], keys[fresh[:n]])
            return [self.candidate(rows, i, "random", None) for i in range(len(rows))]
        rows = self.allowed.rows(owner[fresh], picks[fresh], known)
        score = self.score(rows)
        order = np.argsort(-score, kind="stable")[:n]
        return [self.candidate(rows, int(i), "sketch", float(score[i])) for i in order]

    def candidate(self, rows: Rows, i: int, origin: str, score: float | None) -> Proposal:
        """Candidate of one of the rows."""
        k, parent, how = int(rows.owner[i]), int(rows.parent[i]), int(rows.how[i])
        sampler = self.allowed.variant(k).sampler
        origin = self.allowed.variant(k).origin if origin == "sketch" else origin
        row = sampler.row(self.allowed.narrow(k, rows.picks[i][None])[0])
        changed = ", ".join(sampler.domain.groups[how].holes) if parent and how >= 0 else None
        key = text(int(rows.keys[i]))
        return Candidate(k, row, origin, score, key, text(parent) if parent else None, changed), rows.x[i]

    # ---- inside ----

    def _judge(self, xs: Sequence[NDArray[np.float32]], predicted: Sequence[float], speeds: Sequence[float]) -> None:
        """Compare predictions with measurements, but for programs whose speed another run has told the model."""
        taught = self.model.seen(np.stack(xs)) if xs and self.learns else np.zeros(len(xs), np.bool_)
        self.history.round([math.nan if t else p for t, p in zip(taught, predicted, strict=True)], speeds)

    def _keep(self, chosen: Iterable[Proposal]) -> list[Candidate]:
        out = []
        version = self.model.version if self.learns else None
        for candidate, x in chosen:
            candidate = candidate if candidate.predicted is None else replace(candidate, model=version)
            self._known.add(number(candidate.key))
            self._pending[candidate.key] = x
            out.append(candidate)
        return out

    def _from_seeds(self, n: int) -> list[Proposal]:
        taken: list[Proposal] = []
        waiting: list[Seed] = []
        for at, seed in enumerate(self._seeds):
            if len(taken) == n:
                waiting += self._seeds[at:]
                break
            if number(seed.key) in self._known or any(seed.key == c.key for c, _ in taken):
                continue
            if not self._fits(seed):
                waiting.append(seed)
                continue
            score = float(self.model.predict(seed.x[None])[0]) if self.learns else None
            made = Candidate(seed.variant, seed.row, "seed", score, seed.key, seed.parent, seed.note, seed.schedule)
            taken.append((made, seed.x))
            self._planted[seed.key] = seed
        self._seeds = waiting
        return taken

    def _fits(self, seed: Seed) -> bool:
        """Whether a seed is a legal row of what may be proposed, or no row at all."""
        if seed.variant < 0:
            return True
        variant = self.allowed.variants[seed.variant]
        picks = None if variant is None else variant.sampler.find(seed.row)
        return variant is not None and picks is not None and bool(variant.sampler.mask(picks[None])[0])

    def _speed(self, ms: float | None) -> float:
        return log_speed(self._task.flops, ms)


def text(key: int) -> str:
    """Key of a candidate as it stands in the log."""
    return f"{key:016x}"


def number(key: str) -> int:
    """Number of a structural key; a key of another kind (a default schedule's) stands for nothing here."""
    try:
        return int(key, 16)
    except ValueError:
        return 0

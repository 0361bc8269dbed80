"""What a person has ruled out: values that holes must or must not have, and variants that must not be tried."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from workbench.arguments import is_a, whole
from workbench.errors import UsageError, did_you_mean
from workbench.space.sampling import Sampler

if TYPE_CHECKING:
    from workbench.space.variant import Variant


@dataclass(frozen=True, slots=True)
class Restriction:
    """Pins, forbids and forbidden variants.

    Attributes
    ----------
    pins : mapping of hole to value
    forbids : mapping of hole to values
    variants : frozenset of int
        Variants that must not be tried.
    """

    pins: Mapping[str, int]
    forbids: Mapping[str, frozenset[int]]
    variants: frozenset[int]

    @staticmethod
    def of(
        pins: Mapping[str, int] | None = None,
        forbids: Mapping[str, Collection[int]] | None = None,
        variants: Collection[int] = (),
    ) -> Restriction:
        """Restriction from what was given, copied.

        Raises
        ------
        UsageError
            "steer.value" or "steer.variant" for what is no whole number, or no collection of them.
        """
        held = {h: whole(f"the value of {h!r}", v, None, "steer.value") for h, v in (pins or {}).items()}
        ruled_out = {h: _numbers(f"a forbidden value of {h!r}", v, "steer.value") for h, v in (forbids or {}).items()}
        return Restriction(
            held,
            {h: values for h, values in ruled_out.items() if values},
            _numbers("a forbidden variant", variants, "steer.variant"),
        )

    def allows(self, sampler: Sampler) -> Sampler | None:
        """The sampler held to this restriction, or None when nothing is left of it."""
        groups = []
        for group in sampler.domain.groups:
            ok = np.ones(len(group.table), np.bool_)
            for k, hole in enumerate(group.holes):
                if hole in self.pins:
                    ok &= group.table[:, k] == self.pins[hole]
                for value in self.forbids.get(hole, ()):
                    ok &= group.table[:, k] != value
            if not ok.any():
                return None
            groups.append(group if ok.all() else replace(group, table=group.table[ok]))
        if all(a is b for a, b in zip(groups, sampler.domain.groups, strict=True)):
            return sampler
        held = Sampler(replace(sampler.domain, groups=tuple(groups)))
        return held if len(held.draw(1, np.random.default_rng(0))) else None


def _numbers(name: str, values: object, code: str) -> frozenset[int]:
    given = is_a(name, values, Collection, "give a list of them", code)
    return frozenset(whole(name, v, None, code) for v in given)


def restricted(variants: Sequence[Variant], r: Restriction) -> tuple[Variant | None, ...]:
    """Variants held to a restriction; None for those that must not be tried or have nothing left.

    Raises
    ------
    UsageError
        "steer.hole" for a hole that no variant has, "steer.value" for a value that it cannot have in any of them,
        "steer.variant" for a variant that does not exist, "steer.empty" when all of it together leaves nothing.
    """
    _check_names(variants, r)
    for hole, value in r.pins.items():
        _check_pin(variants, r, hole, value)
    out: list[Variant | None] = []
    for v in variants:
        sampler = None if v.index in r.variants else r.allows(v.sampler)
        out.append(None if sampler is None else v if sampler is v.sampler else v.held_to(sampler))
    unmet = [h for h in r.pins if not any(v is not None and _has(v, h) for v in out)]
    if unmet or all(v is None for v in out):
        told = [f"{h} = {x}" for h, x in r.pins.items()]
        told += [f"{h} ≠ {x}" for h, xs in r.forbids.items() for x in sorted(xs)]
        told += [f"not sketch {k}" for k in sorted(r.variants)]
        raise UsageError(
            "steer.empty", f"No schedule of the space meets {', '.join(told)}.", told, "release one of them first"
        )
    return tuple(out)


def _has(variant: Variant, hole: str) -> bool:
    return any(hole in g.holes for g in variant.sampler.domain.groups)


def _check_names(variants: Sequence[Variant], r: Restriction) -> None:
    holes = {h: None for v in variants for g in v.sampler.domain.groups for h in g.holes}
    for hole in (*r.pins, *r.forbids):
        if hole not in holes:
            raise UsageError(
                "steer.hole", f"No variant of the space has a hole '{hole}'.", (hole,), did_you_mean(hole, holes)
            )
    for k in r.variants:
        if not 0 <= k < len(variants):
            hint = f"variants are numbered 0 to {len(variants) - 1}"
            raise UsageError("steer.variant", f"The space has no variant {k}.", (str(k),), hint)


def _check_pin(variants: Sequence[Variant], r: Restriction, hole: str, value: int) -> None:
    """A pin must be possible by itself; that the pins are possible together is seen later."""
    alone = Restriction({hole: value}, {}, frozenset())
    having = [v for v in variants if _has(v, hole)]
    if any(alone.allows(v.sampler) is not None for v in having):
        return
    values = sorted(
        {int(x) for v in having for g in v.sampler.domain.groups if hole in g.holes
         for x in g.table[:, g.holes.index(hole)]}
    )  # fmt: skip
    within = "legal by its table but not with the limits" if value in values else "no value that it may have"
    shown = ", ".join(map(str, values[:24])) + (", …" if len(values) > 24 else "")
    raise UsageError("steer.value", f"'{hole}' cannot be {value}: it is {within}.", (hole,), f"it may be {shown}")

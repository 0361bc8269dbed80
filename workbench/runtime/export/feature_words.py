"""How a machine tells which features its processor has: words of bits, filled in by machine code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.runtime.native.emitter import Emitter, Value


@dataclass(frozen=True, slots=True)
class FeatureWords:
    """What is looked for on processors of one architecture.

    Attributes
    ----------
    names : tuple of str
        Features, in LLVM's names, in the order in which they are looked for.
    rows : callable
        Is given a feature; returns (word, mask) pairs: all bits of each mask have to be there.
    count : int
        Number of words.
    fill : callable
        Emits code that fills them: is given the emitter and their address.
    """

    names: tuple[str, ...]
    rows: Callable[[str], list[tuple[int, int]]]
    count: int
    fill: Callable[[Emitter, Value], None]

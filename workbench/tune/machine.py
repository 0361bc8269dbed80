"""The few numbers of a target that the analytic cost model and the sketch rules use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.target import Target


@dataclass(frozen=True, slots=True)
class Machine:
    """One core's vector unit and caches, and the number of threads.

    Attributes
    ----------
    lanes : int
        float32 values of one vector register.
    registers : int
        Vector registers.
    l1, l2, l3 : int
        Cache sizes in bytes; `l3` is the share of one core.
    isa : frozenset of str
        Vector extensions, as `Target.isa` names them.
    """

    lanes: int = 16
    registers: int = 32
    l1: int = 48 << 10
    l2: int = 2 << 20
    l3: int = 32 << 20
    threads: int = 2
    isa: frozenset[str] = frozenset()

    @staticmethod
    def of(target: Target | None) -> Machine:
        """Numbers of a target (of the host for None); a cache level that does not exist counts as the one below it."""
        if target is None:
            from workbench.target import Target

            target = Target.host()
        l1 = target.l1_bytes or 32 << 10
        l2 = max(target.l2_bytes, l1)
        l3 = max(target.l3_bytes, l2)
        return Machine(target.lanes("float32"), target.vector_registers, l1, l2, l3, target.threads, target.isa)

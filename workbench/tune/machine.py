"""The few numbers of a target that the analytic cost model and the sketch rules use."""

from __future__ import annotations

from dataclasses import dataclass


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
    ghz : float
        Sustained clock under vector load.
    """

    lanes: int = 16
    registers: int = 32
    l1: int = 48 << 10
    l2: int = 2 << 20
    l3: int = 32 << 20
    ghz: float = 3.0
    threads: int = 2

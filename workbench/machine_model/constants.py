"""The numbers of the analytic model, by concern: each with its unit, its origin and what follows from it.

The fitted ones come from measurements of register tiles and of whole convolutions on two machines
(``tests/benchmarks/bench_model.py``). They are ratios more than truths. What describes the machine at hand is not here:
it comes from the `Target`, and the rates of its caches from a measurement where there was one (`machine_parameters`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

#: Throughput cost of an operation on one vector register, in units of one simple arithmetic instruction; chosen.
OP_COST: Mapping[str, float] = {
    "div": 16.0, "mod": 24.0, "sqrt": 20.0, "rsqrt": 24.0, "exp": 14.0, "log": 18.0, "tanh": 22.0, "sigmoid": 24.0,
    "erf": 26.0, "pow": 40.0,
}  # fmt: skip


class Caches:
    """How a cache keeps what a block touches."""

    #: Share of a cache that one block may count on; chosen. Less of it lets working sets spill earlier.
    OCCUPANCY = 0.8
    #: Times that a line moves which is written and does not stay: for the load, for the store, and back. By definition.
    WRITTEN = 3.0
    #: Bytes after which addresses come back to the same set, of a first-level cache (a page) and of a second-level one:
    #: the size over the number of ways. Both machines of the fit have the same (48 KiB / 12 and 32 KiB / 8; 2 MiB / 16
    #: and 1 MiB / 8).
    WAYS = (4096, 131072)


class Rates:
    """Bytes per cycle and thread that the machines of the fit read from their second and third level.

    A cycle is that of the multiply-add rate: two vectors. The rates measured on a machine over these are its
    `Machine.pace`.
    """

    #: Of the core with two ports.
    FITTED = (48.0, 10.0)
    #: Of the core that executes wide vectors in halves.
    HALVES = (30.0, 54.0)
    #: Paces beyond this, or below its inverse, are no truth about caches; chosen.
    MOST = 4.0


#: Cycles that a link of `BlockFacts.chain` stands for: those of a vector multiply-add.
LATENCY = 4.0


@dataclass(frozen=True, slots=True)
class Constants:
    """What was fitted, in cycles (bytes per cycle for the caches). A cycle is the time of two vector multiply-adds.

    Attributes
    ----------
    body, tile : float
        Loop overhead of one body; start and end of one register tile.
    turn : float
        Shortest time of one body of a loop that the code generator does not unroll, a taken branch; a short store.
    crowd, free_loads : float
        Cost of a load beyond `free_loads` per multiply-add.
    issue : float
        Instructions that leave the front end per cycle.
    load_port, store_port : float
        Loads, compared with multiply-adds two of which take a cycle; a store of more than half a register.
    narrow : float
        What an operation on at most half a register takes, compared with one on all of it.
    latency, forward : float
        From one multiply-add to the next on the same accumulator; how much longer if that goes through memory, where
        the load waits for the store before it.
    window : float
        Multiply-adds that wait for each other while later ones, of other results, go ahead: what schedulers hold.
    spill, strided, hoisted, store : float
        Per spilled register, gathered element, load outside of the innermost loop, stored or reloaded accumulator.
    guard, lane_guard : float
        Per tested index condition, and per mask of a vector.
    l1, l2, l3 : float
        Bytes per cycle that this level gets from the next one.
    walk, far, memory : float
        Per line that stands alone at the end of a long step, beside its bytes: from L2, from L3, from memory. This is
        the latency over the number of misses in flight.
    crowded : float
        The same from L2 where all lines fall into one set of L1, so that few misses can be in flight.
    overlap, fetched : float
        Share of the shorter of issuing and waiting that is not hidden behind the longer one; with prefetches.
    launch, task : float
        One parallel region, one task of it.
    """

    body: float = 0.7
    tile: float = 6.0
    turn: float = 1.0
    crowd: float = 0.25
    free_loads: float = 0.0
    issue: float = 3.8
    load_port: float = 1.0
    store_port: float = 1.0
    narrow: float = 1.0
    latency: float = 4.0
    forward: float = 5.0
    window: float = 64.0
    spill: float = 0.6
    strided: float = 1.0
    hoisted: float = 0.1
    store: float = 0.9
    guard: float = 0.3
    lane_guard: float = 1.0
    l1: float = 120.0
    l2: float = 14.0
    l3: float = 12.0
    walk: float = 1.3
    far: float = 6.0
    memory: float = 25.0
    crowded: float = 7.0
    overlap: float = 0.25
    fetched: float = 0.1
    launch: float = 3000.0
    task: float = 250.0


#: The fit to a core with two 512-bit FMA ports.
CONSTANTS = Constants()

#: The fit to a core that executes such vectors in halves (Zen 4). Two multiply-adds take two ticks of the clock there,
#: so what does not pass through the vector units takes about half as many of these cycles. `store_port`, `narrow`,
#: `latency`, `turn` and what `forward` and `window` say are what is documented of it, and were measured alone.
HALVES = Constants(
    body=0.11, tile=1.8, turn=0.5, crowd=0.12, issue=7.5, load_port=0.77, store_port=1.2, narrow=0.5,
    latency=2.0, forward=4.6, store=1.35, guard=0.11, l1=125.0, l2=60.0, walk=0.5, far=1.5, memory=8.0, crowded=4.0,
    overlap=0.4,
)  # fmt: skip

"""The layer, the tuner's schedule of it, and what both are compared by."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt

from workbench.analysis import Cache, CacheCounts, cache_view, estimate
from workbench.analysis.cache.levels import KIB
from workbench.ir import Func
from workbench.labs.catalog.capstone.traces import TRACES
from workbench.labs.counting import count, shared_lines
from workbench.labs.exercise import Setting
from workbench.labs.goals import busy_share
from workbench.schedule import Schedule
from workbench.target import Target
from workbench.workloads import conv2d_nhwc

#: Height and width of the image, and channels of the result, of fire8/squeeze1x1 and fire9/squeeze1x1 of SqueezeNet.
SIDE, OUT = 13, 64
#: Channels of the input: of fire8, of fire9.
SIZES = {"c": (384, 512)}
#: What is simulated: one cache of 32 KiB.
CACHE = Cache("cache", 32 * KIB, ways=8)
THREADS = 2


def layer(channels: int) -> Func:
    """Return the layer: a convolution of 1 by 1, a bias, a ReLU."""
    return conv2d_nhwc(SIDE, SIDE, channels, OUT, kernel=1, padding=0, bias=True, relu=True)


def of(at: Setting) -> Func:
    """Return the student's layer."""
    return layer(at["c"])


def tuned(channels: int, target: Target) -> Schedule:
    """Return what the tuner found for this layer on a machine with vectors of about this length."""
    steps = [{"primitive": name, "args": args} for name, args in TRACES[channels, target.lanes("float32") >= 16]]
    return Schedule.from_json(layer(channels), steps, target)


def run(s: Schedule) -> CacheCounts:
    """Return what every access of a nest does to the cache of the lab."""
    return cache_view(s, levels=CACHE)


def at_a_time(s: Schedule) -> int:
    """Return how many iterations of the convolution may run at the same time."""
    return shared_lines(s.func)["conv"].iterations


@lru_cache(maxsize=8)
def tuned_counts(channels: int, target: Target) -> tuple[int, int]:
    """Return the accumulators of the tuner's schedule, and its iterations for threads."""
    s = tuned(channels, target)
    return count(s.func, target.lanes("float32"), "conv").accumulators, at_a_time(s)


@lru_cache(maxsize=8)
def to_beat(channels: int, target: Target) -> tuple[int, float]:
    """Return the simulated misses and the estimated cycles of the tuner's schedule."""
    s = tuned(channels, target)
    return run(s).misses(CACHE.name), estimate(s).cycles


def score(s: Schedule) -> float:
    """Return how a schedule of the layer compares with the tuner's: 100 is as good, 200 half the misses and cycles.

    It is the geometric mean of two ratios, the tuner's misses over yours and the tuner's cycles over yours.
    """
    assert s.target is not None
    channels = s.base.buffer("X").shape[-1]
    misses, cycles = to_beat(int(str(channels)), s.target)
    return 100 * sqrt(misses / run(s).misses(CACHE.name) * cycles / estimate(s).cycles)


def card(s: Schedule) -> dict[str, object]:
    """Return what a schedule of the layer is compared by, as a column of a table."""
    assert s.target is not None
    counts, cache = count(s.func, s.target.lanes("float32"), "conv"), run(s)
    return {
        "accumulators": counts.accumulators,
        "iterations for threads": at_a_time(s),
        "share of two threads' time": f"{busy_share(s, THREADS):.0%}",
        **{f"lines of {name} fetched": cache.misses(CACHE.name, name) for name in ("X", "W")},
        "lines fetched in all": cache.misses(CACHE.name),
        "cycles by the model": round(estimate(s).cycles),
        "score": round(score(s), 1),
    }

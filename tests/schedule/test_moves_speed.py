"""How soon it is known what can be done next, on convolutions of ResNet-50, untouched and scheduled by default."""

from __future__ import annotations

import gc
import json
import statistics
import time
from collections.abc import Callable

import pytest

from workbench import Schedule, Target, workloads
from workbench.ir import Func
from workbench.session.schedule_view.preview import preview
from workbench.space.default_schedule import default_schedule

MOVES_MS, PREVIEW_MS, PREVIEW_BYTES = 50, 30, 4096
TIMES = 20

CONVS: dict[str, Callable[[], Func]] = {
    "7x7/2 3→64 @224": lambda: workloads.conv2d_nhwc(
        224, 224, 3, 64, kernel=7, stride=2, padding=3, bias=True, relu=True
    ),
    "3x3 64→64 @56": lambda: workloads.conv2d_nhwc(56, 56, 64, 64, bias=True, relu=True),
    "3x3/2 128→128 @56": lambda: workloads.conv2d_nhwc(56, 56, 128, 128, stride=2, bias=True, relu=True),
    "1x1 64→256 @56": lambda: workloads.conv2d_nhwc(56, 56, 64, 256, kernel=1, padding=0, bias=True, relu=True),
    "3x3 256→256 @14": lambda: workloads.conv2d_nhwc(14, 14, 256, 256, bias=True, relu=True),
    "3x3 512→512 @7": lambda: workloads.conv2d_nhwc(7, 7, 512, 512, bias=True, relu=True),
}


def schedules() -> list[tuple[str, Schedule]]:
    target = Target.host()
    out = []
    for name, make in CONVS.items():
        func = make()
        out += [(f"{name} v0", Schedule(func, target)), (f"{name} default", default_schedule(func, target))]
    return out


def median_ms(act: Callable[[], object]) -> float:
    """Milliseconds of the median of some calls."""
    times = []
    gc.collect()
    for _ in range(TIMES):
        start = time.perf_counter()
        act()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


@pytest.mark.bench
def test_moves_of_the_whole_nest_are_known_in_time() -> None:
    found = {name: (median_ms(schedule.moves), len(schedule.moves())) for name, schedule in schedules()}
    for name, (ms, count) in found.items():
        print(f"{name:28} {ms:6.1f} ms  {count} moves")
    slow = {name: ms for name, (ms, _) in found.items() if ms >= MOVES_MS}
    assert not slow


@pytest.mark.bench
def test_previews_come_while_a_slider_moves() -> None:
    """New ones: of each factor of each loop one, as a slider asks for them."""
    times, sizes = {}, {}
    for name, schedule in schedules():
        for move in schedule.moves():
            if not move.legal or move.primitive not in ("split", "reorder", "compute_at", "fuse"):
                continue
            start = time.perf_counter()
            answer = preview(schedule, move.step, peak_gflops=100.0).to_json()
            times[name, str(move)] = 1e3 * (time.perf_counter() - start)
            sizes[name, str(move)] = len(json.dumps(answer))
    ordered, bytes_ = sorted(times.values()), sorted(sizes.values())
    p95, most = ordered[int(0.95 * len(ordered))], bytes_[int(0.95 * len(bytes_))]
    print(
        f"{len(ordered)} previews: p50 {statistics.median(ordered):.1f}, p95 {p95:.1f} ms; p95 {most}, {bytes_[-1]} B"
    )
    assert p95 < PREVIEW_MS
    assert most <= PREVIEW_BYTES, max(sizes, key=sizes.__getitem__)

"""What the tours must have shown when they were run, in whatever they were run: text and HTML together, by cell id."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

TOURS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("01_tour_*.ipynb"))
NETWORK, NEST, TUNE = TOURS


def check_network(out: dict[str, str]) -> None:
    assert "Workbench" in out["model"]
    assert "fuse" in out["passes"]
    assert "Conv + Relu are one kernel" in out["fused"]
    kernels, tasks = map(int, re.findall(r"(\d+) (?:kernels|tasks)", out["work"])[:2])
    assert 0 < tasks < kernels, "equal kernels are one task"
    assert "probabilities add up to 1.0000" in out["run"]
    assert "compute" in out["profile"]
    assert "conv[n, h, w, o] = 0.0" in out["task"]
    assert all(name in out["gap"] for name in ("as written", "default schedule"))
    assert "one element at a time" in out["why"]


def check_nest(out: dict[str, str]) -> None:
    assert "ReLU per tile, threads" in out["step-threads"]
    assert "carries the reduction" in out["illegal"]
    assert "tile in registers, all threads" in out["variants"]
    assert "vectorize o.1" in out["differ"]
    assert "of them in the loop over the sum" in out["code"]
    inside = out["code"].splitlines()[1:17]
    assert sum(bool(re.search("fmadd|fmla|mulps", line)) for line in inside) >= 4, "multiply-adds, not addresses"
    assert "256 bytes, a new line each time" in out["slow-why"]
    assert "vectorize: Loop 'c' carries the reduction" in out["slow-why"]
    times = re.findall(r"^(?:as it was left|channels innermost) +(≥ )?([\d.]+)", out["slow-fix"], re.M)
    (doubt, left), (unsure, mended) = ((bool(least), float(ms)) for least, ms in times)
    assert doubt or unsure or mended < left / 10


def check_tune(out: dict[str, str]) -> None:
    assert "pixels" in out["hole"]
    assert "ok" in out["hole"]
    ranks = re.findall(r"^\d+ .* (\d+)(?:\.0)?$", out["hole"], re.M)
    assert ranks
    assert ranks == sorted(ranks, key=int), "the best one first"
    assert "share" in out["dominant"]
    assert re.search(r"ms of the network before, [\d.]+ ms now", out["improve"])
    assert "split(" in out["improve"]
    assert all(name in out["compare-task"] for name in ("as written", "numbers by the tuner"))
    assert all(name in out["compare-network"] for name in ("default schedules", "tuned"))
    values = re.findall(r"largest value ([\d.e-]+), largest difference ([\d.e-]+)", out["same"])
    assert values
    assert all(float(value) > 1e-3 >= 100 * float(difference) for value, difference in values)
    assert "'ok': " in out["log"]
    assert "Measured there" in out["export"]
    assert "tour.html" in out["export"]
    assert re.search(r"computes the same: True|\[export\.", out["library"])


CHECKS: dict[Path, Callable[[dict[str, str]], None]] = {NETWORK: check_network, NEST: check_nest, TUNE: check_tune}

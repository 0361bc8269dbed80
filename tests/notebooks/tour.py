"""What the tour must have shown when it was run, in whatever it was run."""

from __future__ import annotations

import re


def check_tour(out: dict[str, str]) -> None:
    """Check the outputs of its cells, text and HTML together, by cell id."""
    assert "Workbench" in out["model"]
    assert "ReLU per tile, threads" in out["step-4"]
    assert "carries the reduction" in out["illegal"]
    assert "pixels" in out["hole"]
    assert "ok" in out["hole"]
    assert all(name in out["compare-task"] for name in ("as written", "numbers by the tuner"))
    assert all(name in out["compare-network"] for name in ("untouched nests", "untuned", "tuned"))
    check_what_was_tried(out)
    values = re.findall(r"largest value ([\d.e-]+), largest difference ([\d.e-]+)", out["same"])
    assert values
    assert all(float(value) > 1e-3 >= 100 * float(difference) for value, difference in values)


def check_what_was_tried(out: dict[str, str]) -> None:
    """Variants, code, estimates, a slow schedule that is mended, the task that dominates, what is taken away."""
    assert "tile in registers, all threads" in out["variants"]
    assert "vectorize o.1" in out["differ"]
    assert "of them in the loop over the sum" in out["code"]
    inside = out["code"].splitlines()[1:17]
    assert sum(bool(re.search("fmadd|fmla|mulps", line)) for line in inside) >= 4, "multiply-adds, not addresses"
    ranks = re.findall(r"^\d+ .* (\d+)(?:\.0)?$", out["hole"], re.M)
    assert ranks
    assert ranks == sorted(ranks, key=int), "the best one first"
    assert out["estimate"].count("est.") == 3
    assert "256 bytes, a new line each time" in out["slow-why"]
    assert "vectorize: Loop 'c' carries the reduction" in out["slow-why"]
    times = re.findall(r"^(?:as it was left|channels innermost) +(≥ )?([\d.]+)", out["slow-fix"], re.M)
    (doubt, left), (unsure, mended) = ((bool(least), float(ms)) for least, ms in times)
    assert doubt or unsure or mended < left / 10
    assert "share" in out["dominant"]
    assert re.search(r"ms of the network before, [\d.]+ ms now", out["improve"])
    assert "trial" in out["improve"]
    assert "s.reproduce(" in out["export"]
    assert "tour.html" in out["export"]

"""Quantised products and convolutions, requantised, against the same in float32, both by their default schedules.

Run it by hand, or with ``pytest -m bench tests/benchmarks/bench_integers.py``::

    python tests/benchmarks/bench_integers.py [--threads 1] [--rounds 7]

Each network is one QLinearMatMul or QLinearConv with constant scales and zero points (its kernel: sums of bytes by an
instruction of the machine, bias, scaling back, rounding), and one MatMul or Conv. They run in turns in one process;
what is compared is the median over the turns of each turn's least time. The claim: quantised is faster by the factor
that `CASES` states, on a machine with instructions for bytes (with tiles the factor is 5 to 16), and by `WIDENED` where
bytes are widened in registers (measured on Zen 3, with AVX2: 1.2 to 1.3).
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import pytest

from workbench.graph import Graph, Node, TensorType
from workbench.intrinsics.product_instructions import instruction
from workbench.network.compile import compile
from workbench.target import Target

#: Name -> (image or matrix, weights, attributes, least ratio float32 / bytes that is claimed).
CASES = {
    "128x768 by 768x768": ((128, 768), (768, 768), {}, 2.5),
    "512x512 by 512x512": ((512, 512), (512, 512), {}, 2.5),
    "3x3 64→64 @56x56": ((1, 64, 56, 56), (64, 64, 3, 3), {"pads": (1,) * 4}, 3.0),
    "3x3 128→128 @28x28": ((1, 128, 28, 28), (128, 128, 3, 3), {"pads": (1,) * 4}, 3.0),
    "1x1 1024→256 @14x14": ((1, 1024, 14, 14), (256, 1024, 1, 1), {}, 2.5),
    "depthwise 3x3 96 @56x56": ((1, 96, 56, 56), (96, 1, 3, 3), {"pads": (1,) * 4, "group": 96}, None),
}

#: The same where the machine has AVX2 and no instruction that sums four products of bytes.
WIDENED = 1.1


def networks(name: str) -> tuple[tuple[Graph, np.ndarray], tuple[Graph, np.ndarray]]:
    """The quantised network and the other one, each with what to feed it."""
    rng = np.random.default_rng(0)
    shape, kernel, attrs, _ = CASES[name]
    x = rng.integers(0, 256, shape).astype(np.uint8)
    w = rng.integers(-127, 128, kernel).astype(np.int8)
    c = {"w": w, "sx": np.array(0.02, "f4"), "zx": np.array(120, "u1"), "sw": np.array(0.01, "f4")}
    c |= {"zw": np.array(0, "i1"), "sy": np.array(0.7, "f4"), "zy": np.array(9, "u1")}
    op = "MatMul" if len(shape) == 2 else "Conv"
    names = ("x", "sx", "zx", "w", "sw", "zw", "sy", "zy")
    small = Graph.make(
        "q", [Node("q", f"QLinear{op}", names, ("y",), attrs, "", 10)], {"x": TensorType(shape, "uint8")}, ["y"], c
    )
    real = Graph.make(
        "f", [Node("f", op, ("x", "w"), ("y",), attrs)], {"x": TensorType(shape)}, ["y"], {"w": w.astype("f4")}
    )
    return (small, x), (real, x.astype("f4"))


def milliseconds(name: str, threads: int, rounds: int) -> tuple[float, float]:
    """Time of one run: of the quantised network, and of the other one."""
    runs = [(compile(g, threads=threads), {"x": x}) for g, x in networks(name)]
    found: list[list[float]] = [[], []]
    for _ in range(rounds):
        for times, (executable, feeds) in zip(found, runs, strict=True):
            least = float("inf")
            for _ in range(12):
                start = time.perf_counter()
                executable.run(feeds)
                least = min(least, time.perf_counter() - start)
            times.append(least * 1e3)
    return statistics.median(found[0]), statistics.median(found[1])


@pytest.mark.bench
@pytest.mark.parametrize("name", [n for n, case in CASES.items() if case[3]])
def test_bytes_are_faster(name):
    isa = Target.host().isa
    if instruction(Target.host(), "uint8") is None:
        pytest.skip("this machine has no instructions for bytes")
    least = CASES[name][3] if isa & {"avx512vnni", "avxvnni", "dotprod"} else WIDENED
    small, real = milliseconds(name, 1, 5)
    assert real / small >= least, f"{small:.3f} against {real:.3f} ms"


def main() -> None:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--threads", type=int, default=1)
    p.add_argument("--rounds", type=int, default=7)
    args = p.parse_args()
    print(f"{'':<26} {'bytes ms':>9} {'float32 ms':>11} {'ratio':>6}")
    for name in CASES:
        small, real = milliseconds(name, args.threads, args.rounds)
        print(f"{name:<26} {small:>9.3f} {real:>11.3f} {real / small:>6.1f}", flush=True)


if __name__ == "__main__":
    main()

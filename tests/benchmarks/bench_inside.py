"""Calls inside a network against the same calls alone, over and over.

Run it by hand on a quiet machine::

    WORKBENCH_REAL_MODELS=models python tests/benchmarks/bench_inside.py [NETWORK ...] [--logs FOLDER] [--json FILE]

Schedules are those of the log that ``bench_networks.py`` left in the folder, else the default ones. A call alone finds
its weights and operands in the caches of the core that used them last; what it takes longer in the network, it waits
for them. The ratio is of the sums of medians, each of several profiles.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

from networks.models import NETWORKS, Network
from suite import host


def look(network: Network, args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Profile a network several times."""
    import workbench as wb

    kind = "" if args.precision == "float32" else f".{args.precision}"
    model, log = network.file(folder), folder / f"{network.name}.{args.threads}t{kind}.tunelog.jsonl"
    graph = wb.load_onnx(str(model), shapes=network.shapes or None).optimize(precision=args.precision)
    exe = wb.compile(graph, log if log.exists() else None, threads=args.threads)
    given = network.inputs(model)
    frames = [exe.profile(given, repeat=args.repeat, roofline=False, alone=True) for _ in range(args.rounds)]
    inside = [float(f["ms"][f["alone_ms"].notna()].sum()) for f in frames]
    alone = [f.attrs["alone_ms"] for f in frames]
    ratios = [a / b for a, b in zip(inside, alone, strict=True)]
    waits = (frames[-1]["ms"] - frames[-1]["alone_ms"]).sort_values(ascending=False).head(args.show)
    found = {
        "network": network.name, "tuned": log.exists(), "inside_ms": statistics.median(inside),
        "alone_ms": statistics.median(alone), "ratio": statistics.median(ratios), "least": min(ratios),
        "most": max(ratios), "waits": {frames[-1]["call"][k]: ms for k, ms in waits.items()},
    }  # fmt: skip
    times = f"inside {found['inside_ms']:8.3f} ms  alone {found['alone_ms']:8.3f} ms"
    ratio = f"ratio {found['ratio']:.3f} ({found['least']:.3f} to {found['most']:.3f})"
    print(f"{network.name:16} {times}  {ratio}{'' if log.exists() else '  untuned'}", flush=True)
    for call, ms in found["waits"].items():
        print(f"    {ms:+.4f} ms  {call}")
    return found


def main() -> None:
    """Read the options and profile."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("networks", nargs="*", choices=[[], *NETWORKS])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--show", type=int, default=0, help="calls that wait longest")
    parser.add_argument("--logs", type=Path, help="folder of logs and filled models")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as own:
        folder = args.logs or Path(own)
        rows = [look(NETWORKS[n], args, folder) for n in (args.networks or NETWORKS)]
    if args.json:
        args.json.write_text(json.dumps({"host": host.describe(), "networks": rows}, indent=1))


if __name__ == "__main__":
    main()

"""Large logs for measurements: records of the auto-scheduler, varied from the real ones of the tests."""

from __future__ import annotations

import gzip
import json
import random
import sys
from pathlib import Path

SAMPLE = Path(__file__).resolve().parents[1] / "data" / "logs" / "ansor" / "resnet-50-NHWC-B1-llvm.json.gz"


SHORT = 3
"""Of the real records, the shortest ones, of which `SHARE` of the made ones come: a line then has about 400 bytes."""
SHARE = 0.85


def ansor(path: Path, records: int, sample: Path = SAMPLE, failed: float = 0.03, seed: int = 0) -> int:
    """Write so many records: the real ones' tasks and kinds of steps, other factors, one time each; return the bytes.

    Of the shortest real records more are made, so that a line has about 400 bytes.
    """
    rng = random.Random(seed)
    text = gzip.decompress(sample.read_bytes()) if sample.suffix == ".gz" else sample.read_bytes()
    made = [json.loads(line) for line in text.splitlines() if line.startswith(b"{")]
    texts = [_pieces(record) for record in made]
    texts.sort(key=lambda text: sum(map(len, text[0])))
    weights = [(SHARE / SHORT if k < SHORT else 0.0) + (1.0 - SHARE) / len(texts) for k in range(len(texts))]
    clock = 1_606_960_872
    with open(path, "w") as file:
        file.write("# made for a measurement\n")
        for (pieces, numbers), _ in zip(rng.choices(texts, weights, k=records), range(records), strict=True):
            steps = [pieces[0]]
            for number, piece in zip(numbers, pieces[1:], strict=True):
                steps += [str(number if number < 2 else rng.choice((1, 2, 4, 7, 8, 16))), piece]
            clock += 1
            bad = rng.random() < failed
            cost = "1e+10" if bad else f"{rng.lognormvariate(-9.0, 1.0):.6g}"
            error = rng.choice((2, 4, 6, 7)) if bad else 0
            file.write(f'{"".join(steps)}, "r": [[{cost}], {error}, {rng.random() * 3:.5f}, {clock}], "v": "v0.5"}}\n')
    return path.stat().st_size


def _pieces(record: dict[str, object]) -> tuple[list[str], list[int]]:
    """Return the text of a record's input around the factors of its splits, and these."""
    (task, (_, steps)) = record["i"]  # type: ignore[misc]
    marked = json.dumps([task, [[], [[*s[:4], ["@"] * len(s[4]), *s[5:]] if s[0] == "SP" else s for s in steps]]])
    return ('{"i": ' + marked).split('"@"'), [n for s in steps if s[0] == "SP" for n in s[4]]


if __name__ == "__main__":
    print(ansor(Path(sys.argv[1]), int(sys.argv[2]), *map(Path, sys.argv[3:])), "bytes")

"""Large logs for measurements: records of the auto-scheduler, varied from the real ones; other tools' repeated."""

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


DOCUMENTS = {
    "kernel-tuner": ("kernel-tuner/convolution_milo-A100.json.gz", "cache"),
    "t4": ("kernel-tuner/convolution_milo-A100_T4-every-10th.json.gz", "results"),
    "ktt": ("ktt/pnpoly-RTX_3090.json.gz", "Results"),
    "pyatf": ("pyatf/matmul96-auc.json.gz", "history"),
}
"""Tools that write one JSON document: a real file, and its member with the records."""

LINES = {
    "autotvm": ("autotvm/bert-cpu-excerpt.log.gz", 0),
    "helion": ("helion/synthetic-autotune-v2.csv.gz", 1),
    "metaschedule": ("metaschedule/conv14-relu-32trials/database_tuning_record.json.gz", 0),
    "optuna-journal": ("optuna/matmul96.journal.log.gz", 3),
}
"""Tools that write a record per line, or several lines: a real file, and how many lines stand before the records."""


def repeated(path: Path, tool: str, size: int) -> int:
    """Write a tool's real records again and again until the file has `size` bytes; return their number."""
    if tool == "csv":
        return _table(path, size)
    name, place = {**DOCUMENTS, **LINES}[tool]
    text = gzip.decompress((SAMPLE.parents[1] / name).read_bytes()).decode()
    if tool in LINES:
        lines = text.splitlines(keepends=True)
        before, records = "".join(lines[:place]), _trials(lines[place:]) if "optuna" in tool else lines[place:]
        parts, between, after = ((lambda n: records[n % len(records)].replace("@", str(n))), "", "")
    else:
        document = json.loads(text)
        members = document.pop(place)
        keyed = isinstance(members, dict)
        written = [json.dumps(value) for value in (members.values() if keyed else members)]
        before = json.dumps(document)[:-1] + f', "{place}": ' + "[{"[keyed]
        parts, between, after = (
            (lambda n: f'"{n}": ' * keyed + written[n % len(written)]), ",\n", "]}"[keyed] + "}\n"
        )  # fmt: skip
    count = 0
    with open(path, "w") as file:
        file.write(before)
        while file.tell() < size:
            file.write((between if count else "") + between.join(parts(n) for n in range(count, count + 1000)))
            count += 1000
        file.write(after)
    return count


def _trials(lines: list[str]) -> list[str]:
    """Return the operations of a trial each, ``@`` in the place of its number."""
    trials: dict[int, list[str]] = {}
    for line in lines:
        operation = json.loads(line)
        number = operation.get("trial_id", len(trials)) if operation["op_code"] != 4 else len(trials)
        trials.setdefault(number, []).append(line.replace(f'"trial_id":{number},', '"trial_id":@,'))
    return ["".join(found) for found in trials.values()]


def _table(path: Path, size: int) -> int:
    rng, count = random.Random(0), 0
    with open(path, "w") as file:
        file.write("tile,unroll,order,ms,state\n")
        while file.tell() < size:
            for _ in range(1000):
                good = rng.random() > 0.03
                cells = 2 ** rng.randrange(8), rng.random() < 0.5, rng.choice(("ij", "ji"))
                told = (rng.random(), "ok") if good else ("", "crash")
                file.write(",".join(map(str, (*cells, *told))) + "\n")
            count += 1000
    return count


if __name__ == "__main__":
    print(ansor(Path(sys.argv[1]), int(sys.argv[2]), *map(Path, sys.argv[3:])), "bytes")

"""Damaged variants of logs, each opened within bounds; run as a program it prints what went wrong as JSON.

A variant may open with faults or be refused with a `WorkbenchError`; anything else is a failure: a traceback, more
memory or time than is allowed.
"""

import gzip
import json
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

LARGEST = 150_000
"""Bytes of a file that are varied: its beginning; a damaged megabyte takes no other way than a damaged part."""

SECONDS = 20
MEMORY = 1 << 30
WORDS = (
    b"NaN", b"Infinity", b"-Infinity", b"1e400", b"1e9", b"1e10", b"1e20", b"null", b'"text"', b"[]", b"{}", b"-1",
    b"true", b"9" * 5000, b"[" * 3000, b'"<script>alert(1)</script>"', b"\0", b"\xff\xfe", b"\r\n", b'"', b"}", b"]",
    b"__import__('os')",
)  # fmt: skip


def truncated(data, chance):
    return data[: chance.randrange(len(data) + 1)]


def flipped(data, chance):
    made = bytearray(data)
    for _ in range(chance.choice((1, 1, 3, 30))):
        if made:
            made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
    return bytes(made)


def swapped(data, chance):
    lines = data.splitlines(keepends=True)
    for _ in range(chance.choice((1, 5))):
        if len(lines) > 1:
            one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
            lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def cut(data, chance):
    start = chance.randrange(len(data) + 1)
    return data[:start] + data[start + chance.choice((1, 10, 1000)) :]


def replaced(data, chance):
    """Put another word in the place of a number or of whatever stands somewhere."""
    start = chance.randrange(len(data) + 1)
    while start < len(data) and not data[start : start + 1].isdigit():
        start += 1
    end = start
    while end < len(data) and data[end : end + 1] in b"0123456789.e+-":
        end += 1
    return data[:start] + chance.choice(WORDS) + data[end:]


def mixed(data, chance):
    half = len(data) // 2
    return data[:half] + b"\n" + chance.choice(WORDS) + b"\n" + data[chance.randrange(len(data) + 1) :]


KINDS = (truncated, flipped, swapped, cut, replaced, mixed)


def varied(path, target, chance):
    """Write a damaged variant of a log, a file or a folder, and say what was done to it."""
    kind = chance.choice(KINDS)
    if path.is_dir():
        shutil.copytree(path, target)
        path, target = (
            folder / name
            for name in [chance.choice(sorted(p.name for p in path.iterdir()))]
            for folder in (path, target)
        )
    data = path.read_bytes()
    packed = data[:2] == b"\x1f\x8b" and len(data) < LARGEST and chance.random() < 0.15
    if data[:2] == b"\x1f\x8b" and not packed:
        data = gzip.decompress(data)
    whole = data[:6] == b"SQLite" or packed
    target.unlink(missing_ok=True)
    target.write_bytes(kind(data if whole else data[:LARGEST], chance))
    return kind.__name__ + (" while packed" if packed else "")


def used(log):
    """Ask a log for everything that a reader of the table would."""
    len(log), repr(log), log.tasks, log.params, log.warnings, log.faults
    good = log.records.loc[log.records["status"] == "ok", "value"].dropna()
    assert good.abs().max() < float("inf") or good.empty, "an infinite value counts"
    assert not (good >= 1e20).any(), "the number of a failure counts"
    assert log.records["cost_s"].dropna().index.isin(good.index).all(), "a failure has a cost"
    for task in log.tasks["task"].head(2):
        log.table(str(task))
    json.dumps(log.records["params"].head(50).tolist())
    json.dumps(log.records["extra"].head(50).tolist())
    for record in {0, len(log) // 2, len(log) - 1} if len(log) else ():
        json.dumps(log.raw(record))


def attempt(path, hints):
    """Return how a variant was taken, and what it has done that it must not."""
    import workbench as wb
    from workbench.errors import WorkbenchError

    try:
        signal.alarm(SECONDS)
        log = wb.logs.open(path, **hints)
        used(log)
    except WorkbenchError as error:
        return error.code, None if error.code and str(error) else f"no code: {error!r}"
    except BaseException:
        return "failed", traceback.format_exc()
    finally:
        signal.alarm(0)
    return ("with faults" if log.faults else "without faults") if len(log) else "without records", None


def run(paths, count, seed):
    """Open so many variants of the logs; return failures, how the variants were taken, and which took longest."""
    failures, slowest, chance, taken = [], (0.0, ""), random.Random(seed), Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            path, hints = paths[number % len(paths)]
            target = Path(folder) / f"{number}" / path.name.removesuffix(".gz")
            target.parent.mkdir()
            what = varied(path, target, chance)
            start = time.monotonic()
            how, wrong = attempt(target, hints)
            taken[how] += 1
            if wrong is not None:
                kept = Path(folder).parent / f"failed-{number}-{path.name.removesuffix('.gz')}"
                if target.is_file():
                    shutil.copy(target, kept)
                failures.append({"log": str(path), "what": what, "number": number, "kept": str(kept), "wrong": wrong})
            slowest = max(slowest, (time.monotonic() - start, f"{path.name}, {what}, number {number}"))
            shutil.rmtree(target.parent)
    return {"failures": failures, "slowest": slowest, "taken": taken}


def _too_slow(*_):
    raise TimeoutError(f"more than {SECONDS} s")


def main():
    given = json.loads(sys.stdin.read())
    signal.signal(signal.SIGALRM, _too_slow)
    warnings.simplefilter("error")
    import pandas  # noqa: F401  # what it needs counts as there

    import workbench as wb

    wb.logs.open  # noqa: B018
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    used_now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used_now + MEMORY, used_now + MEMORY))
    found = run([(Path(path), hints) for path, hints in given["logs"]], given["count"], given["seed"])
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({**found, "grown_mb": grown / 1024}))


if __name__ == "__main__":
    main()

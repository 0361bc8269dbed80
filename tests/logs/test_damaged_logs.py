"""Damaged logs of every tuner: counted, located, refused with a code, never a traceback and never without bounds."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from logs import fuzz
from logs.real_files import EXCERPTS, WHOLE

import workbench as wb
from workbench.logs import IMPORTERS


def logs_of(tmp_path):
    """Return every sample, and the example of each importer, with what `open` has to be told."""
    found = []
    for folder in [EXCERPTS, *(Path(folder) for folder in WHOLE.split(os.pathsep) if folder)]:
        files = [path for path in folder.rglob("*") if path.is_file() and path.name != "README.md"]
        databases = {path.parent for path in files if path.name.startswith("database_workload")}
        found += [(path, {}) for path in sorted({p for p in files if p.parent not in databases} | databases)]
    for name, cls in sorted(IMPORTERS.items()):
        path = tmp_path / f"example.{name}"
        cls.write_example(path)
        found.append((path, dict(cls.example_hints)))
    return found


def fuzzed(tmp_path, count, seed):
    given = {"logs": [[str(path), hints] for path, hints in logs_of(tmp_path)], "count": count, "seed": seed}
    done = subprocess.run(
        [sys.executable, fuzz.__file__], input=json.dumps(given), capture_output=True, text=True, timeout=3000,
        env={**os.environ, "WORKBENCH_CACHE_DIR": str(tmp_path / "cache"), "OPENBLAS_NUM_THREADS": "1"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def told(found):
    return "\n\n".join(f"{f['log']} ({f['what']}, {f['kept']}):\n{f['wrong'][-1500:]}" for f in found["failures"][:5])


def test_a_hundred_damaged_variants(tmp_path):
    found = fuzzed(tmp_path, 100, seed=17)
    assert not found["failures"], told(found)
    assert found["grown_mb"] < 400


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_thousand_damaged_variants(tmp_path):
    found = fuzzed(tmp_path, 2000, seed=int(os.environ.get("WORKBENCH_FUZZ_SEED", "1")))
    print(f"{found['taken']}, slowest {found['slowest']}, memory grew by {found['grown_mb']:.0f} MB")
    assert not found["failures"], told(found)
    assert found["grown_mb"] < 600


def test_samples_are_told_from_each_other(tmp_path):
    for path, hints in logs_of(tmp_path):
        if "T1" not in path.name:  # a space without records
            assert wb.logs.open(path, **hints).format in IMPORTERS

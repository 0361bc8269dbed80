"""The built modules: small, self-contained, up to date, and the same from any directory."""

from __future__ import annotations

import base64
import gzip
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import ROOT, STATIC

SOURCES = ROOT / "extensions"
NAMESPACES = {
    "http://www.w3.org/2000/svg",
    "http://www.w3.org/1998/Math/MathML",
    "http://www.w3.org/1999/xhtml",
    "http://www.w3.org/1999/xlink",
}


def unpacked(name: str) -> str:
    """What runs: the large module unpacks itself."""
    text = (STATIC / name).read_text(encoding="utf-8")
    found = re.search(r'atob\("([^"]*)"\)', text)
    return gzip.decompress(base64.b64decode(found[1])).decode() if found else text


@pytest.mark.parametrize("name", ["workbench.js", "explorer.js", "cache.js"])
def test_a_large_module_travels_packed(name: str) -> None:
    assert (STATIC / name).stat().st_size < 0.6 * len(unpacked(name).encode())


LIMITS = {
    "workbench.js": 260_000, "workbench.css": 58_000, "panel.js": 2_000, "explorer.js": 80_000, "explorer.css": 20_000,
    "cache.js": 45_000, "cache.css": 12_000,
}  # fmt: skip
"""Bytes of the built modules at most."""


@pytest.mark.parametrize(("name", "limit"), LIMITS.items())
def test_a_module_is_small_and_fetches_nothing(name: str, limit: int) -> None:
    text = unpacked(name)
    assert len(text.encode()) < limit
    found = set(re.findall(r"https?://[^\"'`\s)<>]*", text))
    assert found <= NAMESPACES
    assert not re.search(r"@import|\bfetch\(|XMLHttpRequest|\bimport\(|new WebSocket|sourceMappingURL", text)
    assert str(ROOT) not in text


def test_the_built_modules_are_those_of_the_sources_from_any_directory(tmp_path: Path) -> None:
    node = shutil.which("node")
    if node is None or not (SOURCES / "node_modules").is_dir():
        pytest.skip("bundle not rebuilt: Node or extensions/node_modules is missing")
    copy = tmp_path / "elsewhere" / "deeper"
    copy.mkdir(parents=True)
    for part in ("src", "style"):
        shutil.copytree(SOURCES / part, copy / part)
    for file in ("build.mjs", "package.json", "tsconfig.json"):
        shutil.copy(SOURCES / file, copy / file)
    (copy.parent / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "glossary.md", copy.parent / "docs")
    (copy / "node_modules").symlink_to(SOURCES / "node_modules")
    for where, out in ((SOURCES, tmp_path / "here"), (copy, tmp_path / "there")):
        subprocess.run([node, "build.mjs", f"--outdir={out}"], cwd=where, check=True, capture_output=True)
    for name in LIMITS:
        here, there = ((tmp_path / place / name).read_bytes() for place in ("here", "there"))
        assert here == there
        assert here == (STATIC / name).read_bytes(), "run `npm run build` in extensions/"

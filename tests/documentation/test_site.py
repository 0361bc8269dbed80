"""The site is built without warnings, its links and anchors exist, and it needs nothing from anywhere else."""

from __future__ import annotations

import html.parser
import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from workbench.cli import main
from workbench.documentation import site as where

ROOT = Path(__file__).resolve().parents[2]


def build(out: Path, docs: Path = ROOT / "docs") -> None:
    pytest.importorskip("furo", reason="the site's builder is not installed")
    pytest.importorskip("myst_parser", reason="the site's builder is not installed")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-n", "-d", str(out / "trees")]
    done = subprocess.run([*command, str(docs), str(out / "html")], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


class Page(html.parser.HTMLParser):
    """Anchors of a page, what it links to, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors |= {given[key] for key in ("id", "name") if given.get(key)}
        if tag == "a" and given.get("href"):
            self.links.add(given["href"])
        self.loads |= {given[key] for key in ("src", "href") if tag != "a" and given.get(key)}


@pytest.mark.checks
def test_site(tmp_path):
    build(tmp_path)
    site = tmp_path / "html"
    pages = {p: Page(p.read_text(encoding="utf-8")) for p in site.rglob("*.html")}
    assert len(pages) > 40
    wrong = []
    for path, page in pages.items():
        for link in page.links | page.loads:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https", "mailto"):
                continue
            to = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not to.exists() or (parts.fragment and unquote(parts.fragment) not in {"", *pages[to].anchors}):
                wrong.append(f"{path.relative_to(site)}: {link}")
    assert not wrong
    outside = {u for page in pages.values() for u in page.loads if urlsplit(u).netloc}
    assert not outside, "everything that is loaded lies in the site"
    sheets = "".join(p.read_text(encoding="utf-8") for p in site.rglob("*.css"))
    assert not re.findall(r"(?:url\(|@import)\s*['\"]?https?:", sheets)
    assert sum(p.stat().st_size for p in site.rglob("*") if p.is_file()) < 12_000_000
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    titles = json.loads(index[index.index("{") : index.rindex("}") + 1])["alltitles"]
    assert {"Why a step is refused", "Primitives", "vectorize"} <= {*titles}


def test_the_command_says_where_it_lies(tmp_path, monkeypatch, capsys):
    package = tmp_path / "workbench"
    (package / "site").mkdir(parents=True)
    monkeypatch.setattr(where.workbench, "__file__", str(package / "__init__.py"))
    assert main(["docs", "--path"]) == 4
    assert "docs.not_built" in capsys.readouterr().err
    (package / "site" / "index.html").write_text("here")
    assert main(["docs", "--path"]) == 0
    assert capsys.readouterr().out.strip() == str(package / "site" / "index.html")
    monkeypatch.setattr("webbrowser.open", lambda url: url.startswith("file://"))
    assert main(["docs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"page": str(package / "site" / "index.html"), "opened": True}

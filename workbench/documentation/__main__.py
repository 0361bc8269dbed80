"""Write the pages of ``docs/`` that are made from declarations."""

from __future__ import annotations

from pathlib import Path

import workbench
from workbench.documentation.pages import made_pages


def main() -> None:
    """Write what has changed, and remove what is not made any more."""
    docs = Path(workbench.__file__).resolve().parent.parent / "docs"
    pages = made_pages()
    for name, text in pages.items():
        file = docs / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    for file in sorted((docs / "reference").rglob("*.*")):
        if file.relative_to(docs).as_posix() not in pages:
            file.unlink()
            print(f"removed {file.relative_to(docs)}")


if __name__ == "__main__":
    main()

"""``python -m workbench``: the same as the command ``workbench``."""

from __future__ import annotations

from workbench.cli import main

if __name__ == "__main__":
    raise SystemExit(main())

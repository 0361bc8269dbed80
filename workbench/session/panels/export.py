"""What can be taken away: the question to which a file is the answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.late_binding import import_modules
from workbench.session import registry as declare
from workbench.session.export.exporters import kept, prepare
from workbench.session.registry import Host, needed

import_modules("workbench.session.export")  # which declares the exports


@declare.question("export", lane="export")
def export(host: Host, args: Mapping[str, Any]) -> Callable[[], dict[str, str]]:
    """Return the work that makes the file: ``{name, mime, text}``; with `keep` it is written: ``{name, path}``."""
    needed(args, "export", "what")
    work = prepare(host, args)
    return kept(work) if args.get("keep") else lambda: work().to_json()

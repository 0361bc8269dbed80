"""Show or clear what is kept on disk between runs."""

from __future__ import annotations

import contextlib
from argparse import Namespace
from typing import Any

from workbench.cli.arguments import Parser
from workbench.cli.output import Output

#: Measurements of the machine, beside the kernels.
MEASURED = ("peak-*.json", "roofs-*.json")


def arguments(command: Parser) -> None:
    """Declare the arguments."""
    command.add_argument(
        "--clear", action="store_true", help="remove compiled kernels, measurements and columns of logs"
    )


def cache(options: Namespace, output: Output) -> int:
    """Say what is kept, or with ``--clear`` remove it."""
    from workbench.logs.table import kept as kept_logs
    from workbench.markup import plural, size
    from workbench.network import code_cache
    from workbench.target import cache_dir

    kept = code_cache.CodeCache(code_cache.folder())
    measured = [path for pattern in MEASURED for path in cache_dir().glob(pattern)]
    contents, logs = kept.contents(), kept_logs.entries()
    data: dict[str, Any] = {
        "folder": str(cache_dir()), "enabled": code_cache.enabled(), "kernels": contents.entries,
        "bytes": contents.nbytes, "limit_bytes": kept.limit, "damaged": contents.damaged, "measurements": len(measured),
        "logs": len(logs), "log_bytes": sum(status.st_size for _, status in logs),
    }  # fmt: skip
    lines = [
        f"Folder: {cache_dir()}",
        f"Compiled kernels: {contents.entries}, {size(contents.nbytes)} (at most {size(kept.limit)})"
        + ("" if data["enabled"] else ", switched off by WORKBENCH_CACHE"),
        f"Measurements of this machine: {len(measured)}",
        f"Columns of large logs: {len(logs)}, {size(data['log_bytes'])} (at most {size(kept_logs.LIMIT)})",
    ]
    if contents.damaged:
        lines.append(f"Damaged: {contents.damaged}; they are built again when they are needed")
    if options.clear:
        removed = kept.clear() + kept_logs.clear()
        for path in measured:
            with contextlib.suppress(OSError):
                path.unlink()
                removed += 1
        data["removed"] = removed
        lines = [f"Removed {plural(removed, 'file')} from {cache_dir()}"]
    output.result(data, "\n".join(lines))
    return 0

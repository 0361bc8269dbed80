"""``workbench passes``: the graph passes there are."""

from __future__ import annotations

from argparse import Namespace

from workbench.cli.output import Output, columns


def passes(options: Namespace, output: Output) -> int:
    """List the passes in the order in which they run."""
    from workbench.graph import list_passes

    listed = list_passes()
    rows = [[p.name, "yes" if p.default else "no", ", ".join(p.requires) or "-", p.doc] for p in listed]
    output.result(
        {"passes": [p.to_json() for p in listed]}, columns(["Pass", "Default", "Requires", "What it does"], rows)
    )
    return 0

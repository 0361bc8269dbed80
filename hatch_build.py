"""Builds the documentation site into a wheel, so that ``workbench docs`` works without a network."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SiteHook(BuildHookInterface[Any]):
    """An editable installation reads the pages where they are, and needs no site."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the site in a folder of its own; a wheel without it is better than none, and says so."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory(prefix="workbench-site-")
        site = Path(self._folder.name)
        try:
            from sphinx.cmd.build import main as sphinx_build

            failed = sphinx_build(["-q", "-d", f"{site}/doctrees", str(Path(self.root) / "docs"), f"{site}/html"])
        except ImportError as error:
            failed, reason = 1, str(error)
        else:
            reason = f"sphinx-build ended with {failed}"
        if failed:
            self.app.display_warning(f"The wheel is built without its documentation site: {reason}")
            return
        build_data["force_include"][f"{site}/html"] = "workbench/site"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder."""
        if version != "editable":
            self._folder.cleanup()

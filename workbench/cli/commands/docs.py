"""Open the documentation in the browser."""

from __future__ import annotations

import webbrowser
from argparse import Namespace

from workbench.cli.arguments import Parser
from workbench.cli.output import Output
from workbench.documentation.site import site


def arguments(command: Parser) -> None:
    """Declare the arguments."""
    command.add_argument("--path", action="store_true", help="only print where it lies")


def docs(options: Namespace, output: Output) -> int:
    """Open the first page; where no browser can be started, say where it lies."""
    page = site()
    opened = not options.path and webbrowser.open(page.as_uri())
    output.result({"page": str(page), "opened": opened}, str(page) if options.path else page.as_uri())
    return 0

"""Loaded into a kernel that runs a notebook to be graded: from then on it reaches nothing but its own machine.

This keeps a lab honest about what it needs. It is no prison: what a notebook does to files, and what other programs
that it starts do, is not held back; run what you do not trust as a user without rights, or in a container.
"""

from __future__ import annotations

import ipaddress
import sys

from workbench.errors import RunFailure
from workbench.safe_text import legible_line

_NAMES = ("", "localhost", "localhost.localdomain")


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.connect" or event == "socket.sendto":
        address = arguments[1]
        host = address[0] if isinstance(address, tuple) else None  # a path is a socket of this machine
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    if host is not None and not _is_here(host):
        text = f"The network is off while a notebook is checked; it asked for {legible_line(str(host))[:200]}"
        raise RunFailure("lab.network", text, (), "a lab needs nothing from elsewhere")


def _is_here(host: object) -> bool:
    name = host.decode("ascii", "replace") if isinstance(host, bytes) else str(host)
    try:
        return ipaddress.ip_address(name.partition("%")[0]).is_loopback
    except ValueError:
        return name in _NAMES


sys.addaudithook(_refuse)

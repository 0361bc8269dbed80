"""Arguments that several commands have, and the numbers that they take; importing this loads nothing heavy."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any, NoReturn

from workbench.errors import UsageError

LAST_PORT = 65535
"""The largest number that a TCP port can have."""


class Parser(argparse.ArgumentParser):
    """An ArgumentParser that raises `UsageError` instead of ending the process."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})

    def error(self, message: str) -> NoReturn:
        """Raise ``usage.arguments``."""
        raise UsageError("usage.arguments", message[:1].upper() + message[1:], (), f"see '{self.prog} --help'")


def json_option(command: Parser) -> None:
    """Add ``--json``."""
    command.add_argument(
        "--json", action="store_true", help="one JSON object on standard output, the rest on standard error"
    )


def model(command: Parser) -> None:
    """Add the model and what is about its file."""
    command.add_argument("model", metavar="MODEL", help="an ONNX file, or the name of one in the onnx package")
    shape(command)
    dynamic(command)
    command.add_argument(
        "--fill-weights", type=int, metavar="SEED", help="replace constant stub weights by seeded, calibrated ones"
    )
    command.add_argument("--save-filled", metavar="OUT.onnx", help="also save the model with the filled weights")
    without(command)


def shape(command: Parser) -> None:
    """Add ``--shape``."""
    command.add_argument(
        "--shape", action="append", default=[], metavar="NAME=1x3x224x224", help="shape of an input; may be repeated"
    )


def dynamic(command: Parser) -> None:
    """Add ``--dynamic``."""
    command.add_argument(
        "--dynamic",
        action="append",
        default=[],
        metavar="NAME=1..512",
        help="lengths of an open dimension; repeat it",
    )


def without(command: Parser) -> None:
    """Add ``--without`` and ``--precision``."""
    command.add_argument(
        "--without", action="append", default=[], metavar="PASS", help="leave out a graph pass; may be repeated"
    )
    command.add_argument(
        "--precision", default="float32", metavar="TYPE", help="compute products in float32 (default) or bfloat16"
    )


def target(command: Parser) -> None:
    """Add ``--threads`` and ``--target``."""
    command.add_argument("--threads", type=positive, metavar="T", help="threads to use (default: all cores)")
    command.add_argument(
        "--target", metavar="STR", help="such as 'llvm -mcpu=skylake -threads=2' (default: this machine)"
    )


def _number(
    kind: Callable[[str], float], noun: str, fits: Callable[[float], bool], fault: str
) -> Callable[[str], float]:
    """Return the type of an argument that is a number."""

    def read(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"'{text}' is not a {noun}") from None
        if not fits(value):
            raise argparse.ArgumentTypeError(f"{text} {fault}")
        return value

    return read


positive = _number(int, "whole number", lambda n: n >= 1, "is less than 1")
port = _number(int, "whole number", lambda n: 1 <= n <= LAST_PORT, f"is no port; they go from 1 to {LAST_PORT}")
positive_number = _number(float, "number", lambda x: 0.0 < x < float("inf"), "is not above 0")
share = _number(float, "number", lambda x: 0.0 <= x <= 1.0, "is not from 0 to 1")

"""Arguments that several commands have, and the numbers that they take; importing this loads nothing heavy."""

from __future__ import annotations

import argparse
from typing import Any, NoReturn

from workbench.errors import UsageError


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


def without(command: Parser) -> None:
    """Add ``--without``."""
    command.add_argument(
        "--without", action="append", default=[], metavar="PASS", help="leave out a graph pass; may be repeated"
    )


def target(command: Parser) -> None:
    """Add ``--threads`` and ``--target``."""
    command.add_argument("--threads", type=positive, metavar="T", help="threads to use (default: all cores)")
    command.add_argument(
        "--target", metavar="STR", help="such as 'llvm -mcpu=skylake -threads=2' (default: this machine)"
    )


def positive(text: str) -> int:
    """Return a whole number of at least 1."""
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value


def port(text: str) -> int:
    """Return a number that a TCP port can have."""
    value = positive(text)
    if value > 65535:
        raise argparse.ArgumentTypeError(f"{value} is no port; the last one is 65535")
    return value


def positive_number(text: str) -> float:
    """Return a number above 0."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def share(text: str) -> float:
    """Return a number from 0 to 1."""
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number") from None
    if not 0.0 <= value <= 1.0:
        raise argparse.ArgumentTypeError(f"{text} is not from 0 to 1")
    return value

"""The command ``workbench``.

Exit codes: 0 done, 2 usage, 3 bad input, 4 failed while running, 130 interrupted. With ``--json`` standard output holds
exactly one JSON object, the result or ``{"error": {...}}``; everything else goes to standard error.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from workbench.errors import ModelWarning, WorkbenchError, command_line
from workbench.safe_text import legible

if TYPE_CHECKING:
    from workbench.cli.output import Output

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 and the number of the signal, as shells have it."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments without the program's name; those of the process when left out.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    # Decided before parsing, so that a usage error is JSON as well.
    as_json = "--json" in arguments[: arguments.index("--") if "--" in arguments else None]
    try:
        from workbench.cli.interrupt import heard_interrupts
        from workbench.cli.output import Output
        from workbench.cli.safe_streams import safe_streams

        with heard_interrupts(), safe_streams(), command_line():
            with Output(as_json) as output:
                code = _run(arguments, output)
            if argv is None:
                _no_more_interrupts()
    except KeyboardInterrupt:  # before or after the part that knows how to say it
        code = INTERRUPTED
    except BrokenPipeError:
        code = _reader_gone()
    except OSError as error:  # standard output cannot be written, which only its flush has told
        sys.stderr.write(f"error: The result cannot be written: {error.strerror or error} [run.output]\n")
        code = _reader_gone(4)
    if code == INTERRUPTED:
        # An interrupt inside an `exec` of a string (dataclasses do that) marks the interpreter to end by the signal,
        # whatever exit code we ask for. Running any other string takes the mark away.
        exec("pass")
    return code


def _run(arguments: Sequence[str], output: Output) -> int:
    """Run a command; turn whatever goes wrong into one message and an exit code."""
    try:
        from workbench.cli.parser import parse

        options = parse(arguments)
        with _told_warnings(output):
            return int(options.command(options, output) or 0)
    except WorkbenchError as error:
        output.error(error.to_json(), str(error))
        return error.exit_code
    except KeyboardInterrupt as error:
        said = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
        message = {"code": "interrupted", "message": "Interrupted", "where": [], "hint": "", **said}
        hint = f"\n  hint: {message['hint']}" if message["hint"] else ""
        output.error(message, f"{message['message']}{hint}", label="")
        return INTERRUPTED
    except BrokenPipeError:
        raise
    except MemoryError:
        hint = "choose smaller shapes, or a machine with more memory"
        message = {"code": "run.memory", "message": "There is not enough memory", "where": [], "hint": hint}
        output.error(message, f"There is not enough memory [run.memory]\n  hint: {hint}")
        return 4
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        hint = "this is a defect of the workbench; please report it with the text above"
        output.say(traceback.format_exc())
        output.error(
            {"code": "internal", "message": text, "where": [], "hint": hint}, f"{text} [internal]\n  hint: {hint}"
        )
        return 4


@contextlib.contextmanager
def _told_warnings(output: Output) -> Iterator[None]:
    """Say warnings about models as the command says its own."""
    shown = warnings.showwarning

    def show(message: Warning | str, *rest: Any) -> None:
        if isinstance(message, ModelWarning):
            output.warn(str(message))
        else:
            shown(legible(message), *rest)

    with warnings.catch_warnings():
        warnings.simplefilter("always", ModelWarning)
        warnings.showwarning = show  # type: ignore[assignment]
        yield


def _no_more_interrupts() -> None:
    """The work is done and told: a Ctrl-C while the interpreter shuts down must not change the exit code."""
    import signal

    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _reader_gone(code: int = 0) -> int:
    """Whoever read our output has closed it: end quietly, and keep the interpreter from complaining at exit."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.__stdout__, sys.__stderr__):
        try:
            if stream is not None:
                stream.flush()
        except (BrokenPipeError, ValueError, OSError):
            os.dup2(devnull, stream.fileno())  # type: ignore[union-attr]
    os.close(devnull)
    return code

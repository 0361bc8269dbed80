"""One board as seen from here: a command whose standard input and output lead to `agent`."""

from __future__ import annotations

import contextlib
import signal
import struct
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from workbench.codegen.lowering import ObjectCode
from workbench.errors import RunError
from workbench.runtime.boards import agent
from workbench.runtime.boards.toolchain import PROGRAM, link_image, write_agent
from workbench.runtime.buffers import Array

#: Where the first kernel is loaded, and how far apart others are: within 2 GiB, as some code models want it.
_BASE, _APART = 0x4000_0000, 0x400_0000


class Board:
    """A running program on a board; to be used by one thread. Use it as a context manager, or call `close`.

    Parameters
    ----------
    arch : str
        Its architecture in LLVM's spelling.
    command : sequence of str
        Starts the program there and connects its standard input and output: ``("ssh", "pi", "./agent")``. Where a word
        is `PROGRAM`, the program is compiled here and its path put there: ``("qemu-aarch64", "{agent}")``.

    Raises
    ------
    RunError
        "run.board" when the command does not start, or what answers is not the program.
    BuildError
        "build.cross" when the program cannot be compiled.
    """

    def __init__(self, arch: str, command: Sequence[str]) -> None:
        self.arch = arch
        self._folder = tempfile.TemporaryDirectory(prefix="workbench-board-")
        path = Path(self._folder.name)
        words = list(command)
        if PROGRAM in words:
            program = str(write_agent(arch, path / "agent"))
            words = [program if word == PROGRAM else word for word in words]
        self._said = (path / "said").open("wb+")
        self._words, self._sizes = words, dict[int, int]()
        try:
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=self._said)
        except OSError as error:
            self._folder.cleanup()
            raise RunError("run.board", f"The board's command cannot be started: {error}", (words[0],)) from error
        if self._answer(1)[0] != agent.HELLO:
            self.close()
            raise self._failure("What answers is not the program for boards")

    def __enter__(self) -> Board:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the program, and the command that leads to it."""
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._said.close()
        self._folder.cleanup()

    # ---- messages ----

    def load(self, code: ObjectCode, place: int = 0) -> int:
        """Put a kernel on the board, in the place of what was there; return where it begins."""
        image = link_image(code, self.arch, _BASE + place * _APART)
        self._send(agent.LOAD, image.base, image.size + 4096, len(image.data), data=image.data)
        return image.entry

    def memory(self, slot: int, nbytes: int) -> None:
        """Give a slot so much memory; 0 gives it back."""
        if self._sizes.get(slot) != nbytes:
            self._send(agent.MEMORY, slot, nbytes)
            self._sizes[slot] = nbytes

    def write(self, slot: int, array: Array, offset: int = 0) -> None:
        """Copy an array to the board."""
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self._send(agent.WRITE, slot, offset, data.nbytes, data=data.data)

    def fill(self, slot: int, nbytes: int, value: int) -> None:
        """Set the first bytes of a slot."""
        self._send(agent.FILL, slot, 0, nbytes, value)

    def read(self, slot: int, into: Array, offset: int = 0) -> None:
        """Copy from the board; `into` is contiguous."""
        self._send(agent.READ, slot, offset, into.nbytes)
        into.reshape(-1).view(np.uint8)[...] = np.frombuffer(self._bytes(into.nbytes), np.uint8)

    def run(
        self,
        entry: int,
        args: Sequence[tuple[int, int]],
        workspace: int,
        repeat: int = 1,
        number: int = 1,
        evict: int = 0,
        seconds: float = 0.0,
    ) -> list[int]:
        """Call a kernel.

        Parameters
        ----------
        entry : int
            What `load` returned.
        args : sequence of (int, int)
            Slot and offset in bytes of each operand.
        workspace : int
            Slot of the workspace.
        repeat, number : int
            Repetitions, and calls in each.
        evict : int
            Bytes that are written elsewhere before each repetition.
        seconds : float
            Longest time for all of it, on the board's clock; 0 for no limit.

        Returns
        -------
        list of int
            Nanoseconds of each repetition.
        """
        where = [number for arg in args for number in arg]
        numbers = (entry, workspace, 0, evict, -int(-seconds // 1), repeat, number, len(args))
        self._send(agent.RUN, *numbers, *where)
        return list(self._answer(repeat))

    def _send(self, *words: int, data: bytes | memoryview = b"") -> None:
        stream = self._process.stdin
        assert stream is not None
        try:
            stream.write(struct.pack(f"<{len(words)}q", *words))
            stream.write(data)
            stream.flush()
        except OSError:
            raise self._failure("The board's program ended") from None

    def _answer(self, count: int) -> tuple[int, ...]:
        return struct.unpack(f"<{count}q", self._bytes(8 * count))

    def _bytes(self, count: int) -> bytes:
        assert self._process.stdout is not None
        got = self._process.stdout.read(count)
        if len(got) < count:
            raise self._failure("The board's program ended")
        return got

    def _failure(self, what: str) -> RunError:
        """Say how it ended, with what the command wrote to standard error."""
        code: int | None = None
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(1.0)
        how = agent.EXITS.get(code or 0, "" if code is None else f"exit code {code}")
        if code is not None and (code < 0 or code > 128):
            number = -code if code < 0 else code - 128
            how = f"it was ended by {signal.Signals(number).name}" if number in set(signal.Signals) else how
        said = ""
        with contextlib.suppress(OSError, ValueError):
            self._said.seek(0)
            said = self._said.read()[-2000:].decode(errors="replace").strip()
        text = what + (f": {how}" if how else "") + (f"\n{said}" if said else "")
        hint = "SIGILL: it lacks an extension of the target; see the page on boards for what the command has to do"
        return RunError("run.board", text, (self._words[0],), hint)


def call(board: Board, code: ObjectCode, arrays: Sequence[Array]) -> list[Array]:
    """Call a kernel once on the board; return its operands afterwards."""
    entry = board.load(code)
    for slot, array in enumerate(arrays, 1):
        board.memory(slot, array.nbytes + 64)
        board.write(slot, array)
    space = code.workspace_bytes(1) + 64
    board.memory(0, space)
    board.fill(0, space, 0xFF)
    board.run(entry, [(slot, 0) for slot in range(1, len(arrays) + 1)], 0)
    out = []
    for slot, array in enumerate(arrays, 1):
        out.append(np.empty_like(np.ascontiguousarray(array)))
        board.read(slot, out[-1])
    return out

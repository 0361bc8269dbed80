"""What the runner process does with a candidate for a board: check its result here, and time it there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from workbench.errors import RunError
from workbench.ir import Buffer
from workbench.runtime.boards.board import Board
from workbench.runtime.buffers import ALIGNMENT, Array
from workbench.runtime.machine.interference import Interference
from workbench.runtime.machine.processor_speed import Pace
from workbench.runtime.measuring.adaptive_repeats import Timer
from workbench.runtime.measuring.candidate import Candidate
from workbench.runtime.measuring.candidate_run import TrialRunner
from workbench.runtime.measuring.cold_constants import Stream
from workbench.runtime.measuring.jobs import Reply, TrialJob
from workbench.runtime.measuring.operands import GUARD, Operands, Packed
from workbench.runtime.results.measurement import Measurement
from workbench.runtime.thread_pool.launch_context import LaunchContext

#: Bytes that are written elsewhere before each repetition where the caches are to be cold.
#: Chosen, not measured: more than the caches of a small board have.
_EVICT = 16 << 20


class BoardTrialRunner(TrialRunner):
    """Checks and times candidates on a board; a runner process holds one.

    Parameters
    ----------
    arch : str
        Architecture of the board.
    command : sequence of str
        Leads to it, see `board.Board`.
    """

    def __init__(self, arch: str, command: Sequence[str]) -> None:
        super().__init__()
        self._arch, self._command = arch, command
        self._board: Board | None = None
        self._slots: dict[tuple[object, ...], int] = {}

    @property
    def board(self) -> Board:
        """The board; connected anew after its program ended."""
        if self._board is None:
            self._slots.clear()
            self._board = Board(self._arch, self._command)
        return self._board

    def slot(self, key: tuple[object, ...], nbytes: int) -> tuple[int, bool]:
        """Return the slot of some data with so much room, and whether it was there before."""
        known = key in self._slots
        number = self._slots.setdefault(key, len(self._slots))
        self.board.memory(number, nbytes)
        return number, known

    def forget(self, key: str) -> None:
        """Prepare the task anew; what is on the board goes with it."""
        super().forget(key)
        self.drop()

    def drop(self) -> None:
        """Let the board's program go: it ended, or its memory may be spoilt."""
        board, self._board = self._board, None
        if board is not None:
            board.close()

    def candidate(self, job: TrialJob, place: int = 0) -> BoardCandidate:
        """Load a candidate of a task that was prepared; those of different places may be there at once."""
        self._tasks.move_to_end(job.key)
        if len(self._slots) > 100 or any(key[0] not in (job.key, "workspace") for key in self._slots):
            self.drop()
        return BoardCandidate(job, self._tasks[job.key], self._packed, self, place)

    def run(self, job: TrialJob) -> Measurement | Reply:
        """Check and time one candidate."""
        try:
            return super().run(job)
        except RunError:
            self.drop()
            raise

    @contextmanager
    def watching(self, job: TrialJob) -> Iterator[Interference]:
        """Nobody here knows what else runs on the board."""
        yield Interference(())

    def pace(self, job: TrialJob, timer: Timer) -> Pace | None:
        """Nothing: the speed of a processor here is not that of the board."""
        return None

    def stolen(self) -> str:
        """Nor is what is taken from this one."""
        return ""


class BoardCandidate(Candidate):
    """A kernel on a board with its operands."""

    def __init__(self, job: TrialJob, task: Operands, packed: Packed, runner: BoardTrialRunner, place: int) -> None:
        self._runner, self._board, self._place = runner, runner.board, place
        super().__init__(job, task, packed, LaunchContext(1), None)

    def _connect(self, job: TrialJob, stream: Stream | None) -> None:
        self._space = self._around.reserve(0, GUARD)  # the workspace is on the board, but for what has to stay as it is
        self._room = job.code.workspace_bytes(1)
        self._workspace = self._runner.slot(("workspace", self._place), self._room + GUARD)[0]
        args = [self._bring_operand(job.key, b, a) for b, a in zip(job.params, self._arrays, strict=True)]
        self._outputs = {b.name: args[k][0] for k, b in enumerate(job.params) if b.role == "output"}
        entry = self._board.load(job.code, self._place)
        self.timer: Timer = BoardTimer(self._board, entry, args, self._workspace, job)

    def _bring_operand(self, key: str, buffer: Buffer, array: Array) -> tuple[int, int]:
        """Bring an operand to the board unless it is there; return where it lies."""
        if buffer.role == "output":
            raw = self._task.outputs[buffer.name].raw
            return self._runner.slot((key, buffer.name), raw.nbytes)[0], ALIGNMENT
        slot, known = self._runner.slot((key, buffer.name, buffer.layout), array.nbytes + ALIGNMENT)
        if not known:
            self._board.write(slot, array)
        return slot, 0

    def _bring(self) -> None:
        for name, slot in self._outputs.items():
            self._board.write(slot, self._task.outputs[name].raw)
        self._board.fill(self._workspace, self._room, 0xFF)
        self._board.write(self._workspace, self._space, self._room)

    def _fetch(self) -> None:
        for name, slot in self._outputs.items():
            self._board.read(slot, self._task.outputs[name].raw)
        self._board.read(self._workspace, self._space, self._room)


class BoardTimer(Timer):
    """Repetitions of one kernel on a board.

    Parameters
    ----------
    board : Board
        Where it was loaded.
    entry : int
        Where it begins.
    args : sequence of (int, int)
        Slot and offset of each operand.
    workspace : int
        Slot of the workspace.
    job : TrialJob
        What is measured and how.
    """

    def __init__(
        self, board: Board, entry: int, args: Sequence[tuple[int, int]], workspace: int, job: TrialJob
    ) -> None:
        self._board, self._entry, self._args, self._workspace = board, entry, args, workspace
        self._options, self._best_ms = job.options, job.best_ms
        self._evict = _EVICT if job.options.flush_cache or job.options.constants == "memory" else 0
        self.number, self.disturbed, self.clock, self.why_not, self.at_least_ms = 1, 0, "wall", "", 0.0

    @property
    def flushes(self) -> bool:
        """Whether something is evicted from the caches before each repetition, so that one is one call."""
        return self._evict > 0

    def run(self, repeat: int, number: int) -> list[float]:
        """Return milliseconds per call for each repetition."""
        limit = self._options.timeout_s
        found = self._board.run(self._entry, self._args, self._workspace, repeat, number, self._evict, limit)
        return [max(ns, 1) * 1e-6 / number for ns in found]

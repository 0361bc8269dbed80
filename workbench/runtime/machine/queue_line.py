"""The line of those who want to measure: tickets in a folder, and a lock that whoever measures holds.

No process serves the queue. A ticket is a locked file, and so is the turn. The system opens the locks of a process that
ends, however that happens, so a crash holds nobody up.

Who is next: the user whose last turn began the longest ago, so that nobody waits for more than one turn of each other
user; then who came first.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from workbench import queue_settings
from workbench.queue_settings import Settings, unusable

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

#: The longest, in seconds, that somebody who is not yet next sleeps between two looks at the line; the part of a turn
#: before each place in it; and the shortest.
#: Chosen, not measured: whoever is next waits for the lock itself.
_LONGEST_LOOK_S, _LOOK, _SHORTEST_LOOK_S = 1.0, 0.25, 0.01

#: So many turns say how long one takes; so many seconds after it a user's last turn is forgotten.
#: Chosen, not measured.
_TURNS, _FORGOTTEN_S = 32, 3600.0

#: Seconds between two messages of somebody who waits.
_TELL_S = 1.0

#: A user with a longer name, as it stands in the name of a ticket, is called by a digest.
_LONGEST_NAME = 120

_LINE, _TURN = "line", "turn"
_HOLDER: dict[str, Callable[[Any], Any]] = {"user": str, "process": int, "since": float}
_OPEN = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)


@dataclass(frozen=True, slots=True)
class Waiting:
    """Where somebody stands in the line.

    Attributes
    ----------
    ahead : int
        Measurements before this one, with that which goes on; 0 when the turn has come.
    about_s : float
        Seconds that those will take, about; 0 where nobody knows.
    waited_s : float
        Seconds that have passed.
    """

    ahead: int
    about_s: float = 0.0
    waited_s: float = 0.0

    def __str__(self) -> str:
        if not self.ahead:
            return f"waited for {self.waited_s:.1f} s"
        whom = "another measurement" if self.ahead == 1 else f"{self.ahead} others"
        return f"waiting for {whom}" + (f", about {self.about_s:.2g} s" if self.about_s else "")


def user_name() -> str:
    """Return whose turn it is: the name at a JupyterHub, or that of the system; its digest where it is long."""
    named = os.environ.get("JUPYTERHUB_USER", "").strip() or _system_name()
    long = len(_quoted(named)) > _LONGEST_NAME
    return hashlib.sha256(named.encode(errors="surrogateescape")).hexdigest()[:32] if long else named


def _quoted(user: str) -> str:
    return quote(user, safe="", errors="surrogateescape")


def _system_name() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a number without a name, as in many containers
        return str(os.getuid()) if hasattr(os, "getuid") else "somebody"


@dataclass(frozen=True, slots=True)
class Ticket:
    """A place in the line: when it was taken, whose it is, and a number that tells two of them apart."""

    since_ns: int
    user: str
    process: int
    number: int = 0

    @property
    def file(self) -> str:
        """Name of its file."""
        return f"{self.since_ns:020d},{_quoted(self.user)},{self.process},{self.number}"

    @classmethod
    def of(cls, file: str) -> Ticket | None:
        """Read the name of a file; None for anything else."""
        parts = file.split(",")
        if len(parts) != 4 or not all(parts[k].isdecimal() for k in (0, 2, 3)):
            return None
        return cls(int(parts[0]), unquote(parts[1], errors="surrogateescape"), int(parts[2]), int(parts[3]))


def in_order(tickets: list[Ticket], last: dict[str, float]) -> list[Ticket]:
    """Return tickets in the order of their turns.

    Parameters
    ----------
    tickets : list of Ticket
        Those that wait.
    last : dict
        User -> when their last turn began.
    """
    seen: Counter[str] = Counter()
    keyed = []
    for ticket in sorted(tickets, key=lambda t: (t.since_ns, t.process, t.number)):
        keyed.append((seen[ticket.user], last.get(ticket.user, 0.0), ticket.since_ns, ticket.process, ticket))
        seen[ticket.user] += 1
    return [key[-1] for key in sorted(keyed, key=lambda key: key[:-1])]


@dataclass(frozen=True, slots=True)
class History:
    """What the file ``turn`` says of turns: who measures, when each user's last one began, how long they took."""

    holder: dict[str, Any] | None
    last: dict[str, float]
    seconds: tuple[float, ...]

    @classmethod
    def read(cls, file: int) -> History:
        """Read it; nothing is known where it is damaged, or just being written."""
        try:
            found = json.loads(os.pread(file, 1 << 20, 0) or b"{}")
            last = {str(user): float(at) for user, at in found.get("last", {}).items() if math.isfinite(float(at))}
            seconds = tuple(float(s) for s in found.get("seconds", ()) if 0 <= float(s) < _FORGOTTEN_S)
            holder = found.get("holder") and {name: kind(found["holder"][name]) for name, kind in _HOLDER.items()}
            return cls(holder or None, last, seconds)
        except (OSError, ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError):
            return cls(None, {}, ())

    def write(self, file: int) -> None:
        """Write it; only who measures does."""
        now = time.time()
        last = {user: at for user, at in self.last.items() if 0 <= now - at < _FORGOTTEN_S}
        text = json.dumps({"holder": self.holder, "last": last, "seconds": self.seconds[-_TURNS:]}).encode()
        os.pwrite(file, text, 0)
        os.ftruncate(file, len(text))

    @property
    def usual_s(self) -> float:
        """Seconds that a turn takes; 0 where nobody knows."""
        return sum(self.seconds) / len(self.seconds) if self.seconds else 0.0


_numbers = itertools.count()
Tell = Callable[[Waiting], None]


class MeasurementQueue:
    """The queue of a folder.

    Parameters
    ----------
    where : Path
        The folder.
    user : str, optional
        Whose turns are taken.
    """

    def __init__(self, where: Path, user: str | None = None) -> None:
        self.where, self.user = where, user_name() if user is None else user

    @classmethod
    def make(cls, where: Path, wanted: Settings) -> None:
        """Make a folder that everybody may use, or change its settings.

        Raises
        ------
        InputError
            ``queue.cores`` for processors that are not there.
        RunError
            ``run.queue`` where it cannot be written.
        """
        try:
            (where / _LINE).mkdir(parents=True, exist_ok=True)
            (where / _LINE).chmod(0o777)  # tickets are everybody's; what else is here, nobody else may replace
            queue_settings.write(where, wanted)
        except OSError as error:
            raise unusable(where, str(error)) from error
        os.close(cls(where).open_turn())

    def open_turn(self) -> int:
        """Open the file that is locked by whoever measures; makes it where it is not there yet."""
        if fcntl is None:
            raise unusable(self.where, "this system has no file locks")
        path = self.where / _TURN
        try:
            with contextlib.suppress(FileNotFoundError):
                return os.open(path, _OPEN)
            file = os.open(path, _OPEN | os.O_CREAT, 0o666)
            with contextlib.suppress(OSError):  # somebody else has made it meanwhile
                os.fchmod(file, 0o666)
            return file
        except OSError as error:
            raise unusable(self.where, str(error)) from error

    def status(self) -> tuple[dict[str, Any] | None, list[Ticket], History]:
        """Return who measures now, who waits in which order, and what is known of turns."""
        file = self.open_turn()
        try:
            held = not _lock(file, shared=True)
            history = History.read(file)
            line = [ticket for ticket in in_order(self.tickets(), history.last) if not self._gone(ticket)]
            return (history.holder or {}) if held else None, line, history
        finally:
            os.close(file)

    def tickets(self) -> list[Ticket]:
        """Return all places in the line, in no order; of some the process may have ended."""
        try:
            names = os.listdir(self.where / _LINE)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise unusable(self.where, str(error)) from error
        return [ticket for ticket in map(Ticket.of, names) if ticket is not None]

    @contextlib.contextmanager
    def place(self) -> Iterator[Ticket]:
        """A place in the line, which is given up at the end."""
        ticket = Ticket(time.time_ns(), self.user, os.getpid(), next(_numbers))
        path = self.where / _LINE / ticket.file
        hidden = path.with_name("." + path.name)  # nobody sees it before it is locked
        try:
            path.parent.mkdir(mode=0o777, exist_ok=True)
            file = os.open(hidden, _OPEN | os.O_CREAT, 0o666)
        except OSError as error:
            raise unusable(self.where, str(error)) from error
        try:
            _lock(file)
            os.replace(hidden, path)
            yield ticket
        finally:
            with contextlib.suppress(OSError):
                path.unlink()
            os.close(file)

    def _gone(self, ticket: Ticket) -> bool:
        """Whether the process of a ticket has ended; then the ticket is removed."""
        path = self.where / _LINE / ticket.file
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # it was its turn meanwhile
            return True
        try:
            if not _lock(file, shared=True):
                return False
            with contextlib.suppress(OSError):  # another user's, in a folder where only the owner may remove
                path.unlink()
            return True
        finally:
            os.close(file)

    def wait(self, turn: int, tell: Tell) -> float:
        """Return when the file `turn` is locked: after so many seconds."""
        began, told, said = time.monotonic(), -1, 0.0
        with self.place() as own:
            while True:
                history = History.read(turn)
                ahead = self._ahead(own, history)
                if not ahead and _lock(turn):
                    break
                now = time.monotonic()
                if ahead + 1 != told or now - said >= _TELL_S:
                    told, said = ahead + 1, now
                    tell(Waiting(told, history.usual_s * told, now - began))
                if not ahead and now - began >= _TELL_S:  # told where it stands; from here on, woken by the system
                    fcntl.flock(turn, fcntl.LOCK_EX)
                    break
                usual = _LOOK * ahead * history.usual_s
                time.sleep(min(_LONGEST_LOOK_S, max(_SHORTEST_LOOK_S, usual)))
        waited = time.monotonic() - began
        if told >= 0:
            tell(Waiting(0, 0.0, waited))
        return waited

    def _ahead(self, own: Ticket, history: History) -> int:
        """How many others are before this one in the line."""
        line = in_order(self.tickets(), history.last)
        while line and line[0] != own and self._gone(line[0]):
            line.pop(0)
        return line.index(own) if own in line else 0  # where somebody removed it: who holds the lock decides

    def end(self, turn: int) -> None:
        """Open the lock of the file `turn`, also where a forked child has the file."""
        fcntl.flock(turn, fcntl.LOCK_UN)


def _lock(file: int, shared: bool = False) -> bool:
    """Lock an open file unless another one has; whether that worked."""
    try:
        fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True

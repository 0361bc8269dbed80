"""How networks that run at the same time share the processor.

Threads that outnumber the cores make a network slower, not faster: a region waits for its last task, and that one may
lie with a thread that has no core just then. So every run asks for its threads when it begins, and `lend` gives it the
larger of an equal share of what it asks for and of what nobody has borrowed. A run alone gets all it asks for; of two
that follow each other closely, each gets half from its second run on. A share of one thread needs no pool.

The number of threads changes who computes a task, never the tasks, so results do not depend on it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from workbench.host import usable_threads
from workbench.locks import ForkLock, in_forked_child
from workbench.runtime.thread_pool.pool import ThreadPool, shared_pool

#: Threads in pools that stay for the next run although nobody uses them.
_SPARE_THREADS = max(16, 4 * usable_threads())


@dataclass(slots=True)  # frozen, it would take three times as long to make
class Loan:
    """Threads that a run may use until it gives them back; nobody changes it.

    Attributes
    ----------
    threads : int
        The caller's own thread included.
    pool : ThreadPool or None
        Started, and nobody else's; None for one thread.
    """

    threads: int
    pool: ThreadPool | None
    book: _Book


class _Book:
    """Who has what. A forked child starts a new one: the threads that would give back are not there."""

    def __init__(self) -> None:
        self.lock = ForkLock()
        self.runs = 0
        self.lent = 0
        self.out: set[ThreadPool] = set()
        self.spare: deque[ThreadPool] = deque()

    def lend(self, wanted: int) -> Loan:
        with self.lock:
            fair = wanted // (self.runs + 1)
            threads = max(1, fair, wanted - self.lent)
            pool = self._pool(threads) if threads > 1 else None  # before anything is counted: it may fail
            self.runs += 1
            self.lent += threads
            if pool is not None:
                self.out.add(pool)
        try:
            if pool is not None and not pool.started:
                pool.start()
        except BaseException:
            self.take_back(threads, pool)
            raise
        return Loan(threads, pool, self)

    def _pool(self, threads: int) -> ThreadPool:
        """A pool of this size that is free; the one that single kernels use where it is."""
        for pool in self.spare:
            if pool.nthreads == threads:
                self.spare.remove(pool)
                return pool
        common = shared_pool(threads)
        return common if common not in self.out else ThreadPool(threads)

    def take_back(self, threads: int, pool: ThreadPool | None) -> None:
        with self.lock:
            self.runs -= 1
            self.lent -= threads
            if pool is not None:
                self.out.discard(pool)
                self.spare.append(pool)
                while sum(p.nthreads for p in self.spare) > _SPARE_THREADS and len(self.spare) > 1:
                    self.spare.popleft()


_book = _Book()


def lend(wanted: int) -> Loan:
    """Lend a run up to `wanted` threads.

    Raises
    ------
    RunError
        ``run.threads`` when the system gives no more threads.
    """
    return _book.lend(wanted)


def give_back(loan: Loan) -> None:
    """End a loan; once."""
    loan.book.take_back(loan.threads, loan.pool)


@in_forked_child
def _after_fork() -> None:
    global _book
    _book = _Book()

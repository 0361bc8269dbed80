"""One run under way: a context and threads that are borrowed."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.runtime.buffers import Array
from workbench.runtime.execution.run_context import LoadedNetwork, RunContext
from workbench.runtime.free_list import FreeList
from workbench.runtime.thread_pool.processor_share import Loan, give_back, lend


class WithThreads:
    """Borrow threads for a context, and give them back; for a ``with`` statement.

    Parameters
    ----------
    context : RunContext
    threads : int
    """

    __slots__ = ("_context", "_loan", "_threads")

    def __init__(self, context: RunContext, threads: int) -> None:
        self._context, self._threads = context, threads
        self._loan: Loan | None = None

    def __enter__(self) -> RunContext:
        context = self._context
        if context.threads != self._threads:
            context.resize(self._threads)
        loan = self._loan = lend(self._threads)
        try:
            context.use(loan)
            if loan.pool is not None:
                loan.pool.placement.part()
        except BaseException:
            self.__exit__()
            raise
        return context

    def __exit__(self, *_: object) -> None:
        loan, self._loan = self._loan, None
        if loan is not None:
            give_back(loan)


class Running:
    """Borrow a context and threads, and give them back; for a ``with`` statement.

    Parameters
    ----------
    contexts : FreeList of RunContext
        Where the context comes from; a new one is made where none waits.
    network : LoadedNetwork
    threads : int
    arrays : (inputs, outputs)
        What the context is bound to meanwhile.
    """

    __slots__ = ("_arrays", "_context", "_contexts", "_lent", "_network", "_threads")

    def __init__(
        self,
        contexts: FreeList[RunContext],
        network: LoadedNetwork,
        threads: int,
        arrays: tuple[Sequence[Array], Sequence[Array]],
    ) -> None:
        self._contexts, self._network, self._threads, self._arrays = contexts, network, threads, arrays
        self._context: RunContext | None = None
        self._lent: WithThreads | None = None

    def __enter__(self) -> RunContext:
        context = self._context = self._contexts.take() or RunContext(self._network, self._threads)
        try:
            lent = WithThreads(context, self._threads)
            lent.__enter__()
            self._lent = lent
            context.bind(*self._arrays)
        except BaseException:
            self.__exit__()
            raise
        return context

    def __exit__(self, *_: object) -> None:
        lent, self._lent = self._lent, None
        context, self._context = self._context, None
        if lent is not None:
            lent.__exit__()
        if context is not None:
            context.release()
            self._contexts.give(context)

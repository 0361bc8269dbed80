"""One run under way: a context and threads that are borrowed."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.runtime.buffers import Array
from workbench.runtime.execution.run_context import LoadedNetwork, RunContext
from workbench.runtime.free_list import FreeList
from workbench.runtime.thread_pool.processor_share import Loan, give_back, lend


class Running:
    """Borrow a context and threads, and give them back; for a ``with`` statement.

    Parameters
    ----------
    contexts : FreeList of RunContext
        Where the context comes from; a new one is made where none waits.
    network : LoadedNetwork
    threads : int
    arrays : (inputs, outputs) or None
        What the context is bound to meanwhile; None for one that is bound already, and stays so.
    """

    __slots__ = ("_arrays", "_context", "_contexts", "_loan", "_network", "_threads")

    def __init__(
        self,
        contexts: FreeList[RunContext],
        network: LoadedNetwork,
        threads: int,
        arrays: tuple[Sequence[Array], Sequence[Array]] | None,
    ) -> None:
        self._contexts, self._network, self._threads, self._arrays = contexts, network, threads, arrays
        self._context: RunContext | None = None
        self._loan: Loan | None = None

    def __enter__(self) -> RunContext:
        context = self._context = self._contexts.take() or RunContext(self._network, self._threads)
        try:
            if context.threads != self._threads:
                context.resize(self._threads)
            self._loan = lend(self._threads)
            context.use(self._loan)
            if self._arrays is not None:
                context.bind(*self._arrays)
            if self._loan.pool is not None:
                self._loan.pool.placement.part()
        except BaseException:
            self.__exit__()
            raise
        return context

    def __exit__(self, *_: object) -> None:
        loan, self._loan = self._loan, None
        context, self._context = self._context, None
        if loan is not None:
            give_back(loan)
        if context is not None:
            if self._arrays is not None:
                context.release()
            self._contexts.give(context)

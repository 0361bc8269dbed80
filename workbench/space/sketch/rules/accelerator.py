"""The rule of accelerators: tiles in their memories, and virtual threads that hide how long the loads take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from workbench.codegen.vta.design import Design
from workbench.errors import ScheduleError
from workbench.intrinsics import Mismatch, computes, registry
from workbench.ir import Block, Func, Load, blocks
from workbench.ir.compact_temporaries import compact, scopes
from workbench.ir.poly import Dim, product
from workbench.machine_model.machine_parameters import Machine
from workbench.schedule import Hole
from workbench.space.shared_steps.block_queries import epilogue, is_padding, producers, role
from workbench.space.sketch.rule_table import Draft, Skip, rule, untouched

#: Virtual threads: one computes while the other one's operands are loaded. More only share out the memories further.
THREADS = 2


@rule("accelerator", after="gpu_bind", about=untouched, on="accelerator")
def accelerator(draft: Draft, machine: Machine, block: Block) -> Iterator[Draft]:
    """Compute a product of bytes in tiles that fit an accelerator's memories.

    A tile of sums stays while the sum goes on over parts of the operands. Two virtual threads share out the columns or
    the rows of tiles, each with memory of its own, so that one computes while the other one loads; or one has it all.
    Stages behind the product are steps of the ALU, taken before a tile is stored.
    """
    assert machine.accelerator is not None
    design = machine.accelerator
    try:
        operands = computes(registry[design.gemm], draft.func, block)
    except Mismatch as e:
        raise Skip(e.sentence) from None
    if draft.func.buffer(operands["B"].buffer).role != "const":
        raise Skip("weights are packed ahead of time, and these are no constant")
    column, made = block.index[-1].single_var(), False
    several = any(it.kind == "S" and it.name != column and it.extent != 1 for it in block.iters)
    for shared in ("columns", "rows", "") if several else ("columns", ""):
        try:
            yield _Tiles(draft, design, block.name, operands, shared).made()
            made = True
        except ScheduleError as e:
            draft = draft.skip("accelerator", f"virtual threads along {shared or 'nothing'}: {e.message}", block.name)
    if not made:
        yield draft


class _Tiles:
    """One sketch; `shared` says what virtual threads share out."""

    def __init__(self, draft: Draft, design: Design, name: str, operands: dict[str, Load], shared: str) -> None:
        self._draft, self._design, self._name, self._shared = draft, design, name, shared
        self._s, self._operands = draft.schedule.copy(), operands

    def made(self) -> Draft:
        """Schedule it, with holes for all sizes."""
        last = self._behind()
        data, weights = self._operands["A"].buffer, self._operands["B"].buffer
        at, part, tile = self._cut(weights)
        block = self._s.func.block(self._name)[0]
        pad = next((b for b in producers(self._s.func, block) if b.buffer == data and is_padding(b)), None)
        copies = [(pad.name if pad else self._s.cache_read(self._name, data), "inp")]
        copies.append((self._s.cache_read(self._name, weights), "wgt"))
        for copy, scope in copies:
            self._s.compute_at(copy, part)
            self._s.set_scope(self._s.func.block(copy)[0].buffer, scope)
        self._finish(last, at, block.buffer)
        self._s.tensorize(tile, self._design.gemm)
        if self._shared:
            self._s.bind(at, "vthread")
        said = f"two virtual threads share out the {self._shared}" if self._shared else "one thread has all memory"
        names = [b.name for b, _ in blocks(self._s.func.body)]
        draft = self._draft.change(
            "accelerator", f"{self._name}: tiles in memories of the accelerator; {said}", self._s, *names,
            blocks=[self._name], tag=f"threads along {self._shared}" if self._shared else "one thread",
        )  # fmt: skip
        return replace(draft.limited(_capacity(self._s.func, self._design)), closed=True)

    def _behind(self) -> str:
        """Name the stage that stores the result; stages before it are computed in it."""
        s = self._s
        block = s.func.block(self._name)[0]
        if role(s.func, block) == "output":
            return str(s.cache_write(self._name))
        while (user := epilogue(s.func, block)) is not None and role(s.func, user) == "temp":
            s.compute_inline(user.name)
        if user is None:
            raise Skip("what reads the sums is no stage that runs element by element", self._name)
        return user.name

    def _cut(self, weights: str) -> tuple[str, str, str]:
        """Cut and order the loops; returns where results are finished, where operands are loaded, and the tile."""
        s, design = self._s, self._design
        block, path = s.func.block(self._name)
        loops = {it.name: str(x.single_var()) for it, x in zip(block.iters, block.binds, strict=True)}
        extents = {lp.name: lp.extent for lp in path}
        column, summed = block.index[-1].single_var(), self._operands["A"].index[-1].single_var()
        if column is None or summed is None or "None" in loops.values():
            raise Skip("channels are no loop of their own", self._name)
        rows = [it.name for it in block.iters if it.kind == "S" and it.name != column]
        others = [loops[it.name] for it in block.iters if it.kind == "R" and it.name != summed]
        first = next((r for r in rows if extents[loops[r]] != 1), None)
        outer, inner, threads = [], [], []
        for r in rows:
            if extents[loops[r]] == 1:
                outer.append(loops[r])
                continue
            shared = THREADS if self._shared == "rows" and r == first else 1
            a, b, c = s.split(loops[r], [None, shared, Hole()])
            outer.append(a)
            threads.append(b)
            inner.append(c)
        shared = THREADS if self._shared == "columns" else 1
        j0, jv, j1, j2 = s.split(loops[column], [None, shared, Hole(), design.outputs])
        k0, k1, k2 = s.split(loops[summed], [None, Hole(), design.inputs])
        mine = threads.pop(0) if self._shared == "rows" and threads else jv
        rest = [lp for lp in (*threads, jv) if lp != mine]
        s.reorder(*outer, j0, *rest, mine, k0, *inner, j1, *others, k1, j2, k2)
        b = s.func.block(self._name)[0]
        index = computes(registry[design.gemm], s.func, b)["B"].index
        across, along = (next(d for d, x in enumerate(index) if a in x.vars) for a in (column, summed))
        s.transform_layout(weights, across, design.outputs)
        s.transform_layout(weights, along + 1 if along < across else along, design.inputs)
        return mine, k0, j2

    def _finish(self, last: str, at: str, sums: str) -> None:
        """Bring the stage that stores, and what else it reads, to the finished tile."""
        s = self._s
        stage = s.func.block(last)[0]
        more = [s.cache_read(last, name) for name in sorted({ld.buffer for ld in stage.loads()} - {sums})]
        s.reverse_compute_at(last, at)
        s.set_scope(sums, "acc")
        for copy in more:
            s.compute_at(copy, at)
            s.set_scope(s.func.block(copy)[0].buffer, "acc")


def _capacity(func: Func, design: Design) -> Iterator[tuple[str, Dim, bool]]:
    """What the tiles need of each memory."""
    small, places = compact(func), scopes(func)
    need: dict[str, Dim] = {}
    for b in small.buffers:
        if b.scope in design.rows:
            threads = product(lp.extent for lp in places[b.name].path if lp.kind == "vthread")
            need[b.scope] = need.get(b.scope, 0) + product(b.shape) * threads
    for scope, elements in need.items():
        yield f"{scope} holds the tiles", design.depth[scope] * design.rows[scope] - elements, False

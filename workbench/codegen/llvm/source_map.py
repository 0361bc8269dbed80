"""Which line of LLVM text, and which machine instruction, belongs to which loop or statement, for whoever reads it.

Code is emitted as always, through a builder that notes what it is at; builds have one that does not. To find
machine instructions again, the rows go through LLVM as line numbers of debug information, which the assembly repeats.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from workbench.codegen.code_line import Line, Named, RowNotes, named
from workbench.codegen.llvm.builder import FunctionBuilder, Scope
from workbench.codegen.llvm.module import ModuleEmitter, as_emitted
from workbench.ir import Func
from workbench.target import Target


class _Lines(list[str]):
    """Lines of a scope, each with the row that its builder is at."""

    def __init__(self, builder: MarkedBuilder) -> None:
        super().__init__()
        self._builder = builder

    def append(self, line: str) -> None:
        super().append(Line(line, self._builder.row))

    def __iadd__(self, lines: Iterable[str]) -> _Lines:  # type: ignore[override, misc]
        row = self._builder.row
        super().extend(Line(line, row) for line in lines)
        return self


class MarkedBuilder(RowNotes, FunctionBuilder):
    """A `FunctionBuilder` whose lines know their rows."""

    def __init__(self, isa: Iterable[str]) -> None:
        RowNotes.__init__(self)
        FunctionBuilder.__init__(self, isa)

    def open_scope(self, label: str) -> Scope:
        return Scope(label, _Lines(self))


class MarkedCode:
    """The LLVM text of a function, with a row for every line; arguments as for `emit_module`."""

    def __init__(self, func: Func, target: Target, symbol: str = "kernel", attributes: Sequence[str] = ()) -> None:
        module = ModuleEmitter(as_emitted(func, target), target, symbol, False, attributes, MarkedBuilder)
        module.generate()
        self._head, self._bodies, self._tail = module.head(), module.functions, module.tail()

    def lines(self) -> list[Named]:
        """Return the lines of the text."""
        around = [[part for text in texts for part in text.split("\n")] for texts in (self._head, self._tail)]
        return [named(line) for body in (around[0], *self._bodies, around[1]) for line in body]

    def text(self) -> str:
        """Return the text as builds have it."""
        return "".join(f"{line}\n" for line, _ in self.lines())

    def with_locations(self) -> tuple[str, list[str]]:
        """Return the text with debug information, and the row of each line number that it speaks of, from 1 on."""
        info = _DebugInfo()
        bodies = [line for body in self._bodies for line in info.located(body)]
        return "\n".join([*self._head, *bodies, *self._tail, *info.text()]) + "\n", info.rows


#: Numbers of metadata that modules have of their own.
_TAKEN = 2


class _DebugInfo:
    """Debug information that says nothing but a line number for each row, "" included; 0 is left to LLVM."""

    def __init__(self) -> None:
        self.rows: list[str] = []
        self._numbers: dict[str, int] = {}
        self._nodes = [
            '!DIFile(filename: "nest", directory: "")',
            "distinct !DICompileUnit(language: DW_LANG_C99, file: !2, isOptimized: true, runtimeVersion: 0, "
            "emissionKind: LineTablesOnly)",
            '!{i32 2, !"Debug Info Version", i32 3}',
            "!DISubroutineType(types: !{})",
        ]

    def located(self, body: list[str]) -> list[str]:
        """Give every instruction of a function its place."""
        name = body[0].partition("@")[2].partition("(")[0]
        scope = self._node(
            f'distinct !DISubprogram(name: "{name}", file: !2, scopeLine: {self._number("")}, type: !5, unit: !3, '
            "spFlags: DISPFlagDefinition)"
        )
        places: dict[str, int] = {}
        out = [f"{body[0][:-1]}!dbg !{scope} {{"]
        for line in body[1:]:
            if line.startswith("  "):
                text, row = named(line)
                if row not in places:
                    places[row] = self._node(f"!DILocation(line: {self._number(row)}, scope: !{scope})")
                line = f"{text}, !dbg !{places[row]}"
            out.append(line)
        return out

    def text(self) -> list[str]:
        """Return the metadata itself."""
        numbered = [f"!{k} = {node}" for k, node in enumerate(self._nodes, _TAKEN)]
        return ["!llvm.dbg.cu = !{!3}", "!llvm.module.flags = !{!4}", *numbered]

    def _node(self, text: str) -> int:
        self._nodes.append(text)
        return len(self._nodes) - 1 + _TAKEN

    def _number(self, row: str) -> int:
        if row not in self._numbers:
            self.rows.append(row)
            self._numbers[row] = len(self.rows)
        return self._numbers[row]

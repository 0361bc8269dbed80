"""Pages of HTML that need nothing beside them: one look, a policy under which nothing is loaded, tables."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from workbench.markup import text

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
)
"""The page loads nothing and sends nothing, whatever is in it."""

_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --faint: #656d76; --line: #d0d7de; --page: #ffffff; --warn: #8a5a00; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --faint: #9198a1; --line: #3d444d; --page: #15181d; --warn: #e3b341; }
}
body { margin: 0 auto; padding: 24px 16px 64px; max-width: 1040px; color: var(--ink); background: var(--page);
  font: 14px/1.5 system-ui, sans-serif; }
h1 { font-size: 22px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 18px; margin: 40px 0 8px; padding-top: 12px; border-top: 1px solid var(--line);
  overflow-wrap: anywhere; }
section { margin: 20px 0 0; }
p { margin: 4px 0; } .faint { color: var(--faint); } .warn { color: var(--warn); }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 3px 14px 3px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; } td.number, th.number { text-align: right; white-space: nowrap; }
td.code { font: 12px/1.5 ui-monospace, monospace; max-width: 560px; overflow-wrap: break-word; }
"""


def page(title: str, body: Iterable[str], style: str = "") -> Iterator[str]:
    """Yield the pieces of a page.

    Parameters
    ----------
    title : str
        For the window and the first heading.
    body : iterable of str
        Markup that follows the heading.
    style : str
        More rules.
    """
    yield f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{text(title)}</title>\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<style>{_STYLE}{style}</style>\n</head>\n<body>\n<h1>{text(title)}</h1>\n"
    yield from body
    yield "</body>\n</html>\n"


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[object]],
    right: Container[int],
    of: int = 0,
    code: Container[int] = (),
) -> Iterator[str]:
    """Yield the pieces of a table.

    Parameters
    ----------
    heads : sequence of str
    rows : sequence of rows
    right : container of int
        Columns of numbers.
    of : int
        How many rows there are, where some are left out.
    code : container of int
        Columns of code.
    """
    kinds = ["number" if k in right else "code" if k in code else "" for k in range(len(heads))]
    yield '<div class="wide"><table><tr>'
    yield from (f'<th class="{kind}">{text(head)}</th>' for kind, head in zip(kinds, heads, strict=True))
    yield "</tr>\n"
    for row in rows:
        cells = (f'<td class="{kind}">{text(cell, 400)}</td>' for kind, cell in zip(kinds, row, strict=True))
        yield f"<tr>{''.join(cells)}</tr>\n"
    yield "</table></div>\n"
    if of > len(rows):
        yield f'<p class="faint">{of - len(rows):,} more rows are left out.</p>\n'

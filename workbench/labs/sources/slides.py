"""A lab on a screen in front of a class: slides in one page of HTML that needs nothing beside it, and no network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.labs.plan import LabPlan
from workbench.labs.sources.editions import Edition, cells_of
from workbench.labs.sources.names import cell_name
from workbench.labs.sources.percent import Cell
from workbench.labs.sources.sheet import SHEET_STYLE, Sheet
from workbench.markup import text
from workbench.pages import page

_STYLE = """
.on { max-width: none; padding: 0; overflow: hidden; } .on > h1, .on .notes, .on section { display: none; }
.on.told .notes { display: block; } .on.told .asked { display: none; } .on section.now { display: block; }
.on section { box-sizing: border-box; height: 100vh; margin: 0; padding: 4vh 8vw 9vh; overflow-y: auto; }
.on h2 { border: 0; margin: 0 0 14px; padding: 0; font-size: 1.5em; } .on h3 { font-size: 1.1em; }
.on pre, .on code { font-size: 0.85em; } .on .lines { display: none; }
nav { position: fixed; right: 16px; bottom: 10px; font-size: 14px; color: var(--faint); }
nav button { font: inherit; color: inherit; background: none; border: 1px solid var(--line); border-radius: 4px;
  padding: 2px 10px; cursor: pointer; }
@media print { nav { display: none; } .on { overflow: visible; }
  .on section, .on section.now { display: block; height: auto; padding: 0; break-after: page;
    font-size: 14pt !important; } }
"""

_SCRIPT = """
const slides = [...document.querySelectorAll('section')], place = document.querySelector('nav span');
let now = 0;
function show(k) {
  now = Math.max(0, Math.min(slides.length - 1, k));
  slides.forEach((slide, i) => slide.classList.toggle('now', i === now));
  const slide = slides[now];
  for (let size = 28; size >= 15; size--) {  // the largest letters with which all of it is seen
    slide.style.fontSize = size + 'px';
    if (slide.scrollHeight <= innerHeight) break;
  }
  place.textContent = ` ${now + 1} of ${slides.length} `;
  history.replaceState(null, '', '#' + (now + 1));
}
const keys = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, ' ': 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1,
  Home: -1e6, End: 1e6 };
addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const by = event.key === ' ' && event.shiftKey ? -1 : keys[event.key];
  const slide = slides[now], below = slide.scrollHeight - slide.clientHeight - slide.scrollTop;
  if (by === 1 && event.key !== 'ArrowRight' && below > 2) slide.scrollBy(0, 0.8 * slide.clientHeight);
  else if (by) show(now + by);
  else if (event.key === 'n') { document.body.classList.toggle('told'); show(now); }
  else if (event.key === 'f') document.documentElement.requestFullscreen();
  else return;
  event.preventDefault();
});
const [back, on] = document.querySelectorAll('nav button');
back.onclick = () => show(now - 1);
on.onclick = () => show(now + 1);
onresize = () => show(now);
document.body.classList.add('on');
show((+location.hash.slice(1) || 1) - 1);
"""


def slides(plan: LabPlan, cells: Sequence[Cell], edition: Edition, student: str) -> str:
    """Return the page: a slide for each part of the lab, and one for each exercise.

    An instructor's has answers, hints and texts for the lecturer as well, which the key N shows and hides.

    Parameters
    ----------
    plan : LabPlan
    cells : sequence of Cell
        The lab's source.
    edition : {"student", "instructor"}
    student : str
        Whose sizes the questions are for, on this machine; empty for nobody in particular.
    """
    return "".join(page(f"{plan.number}. {plan.title}", _body(plan, cells, edition, student), SHEET_STYLE + _STYLE))


def _body(plan: LabPlan, cells: Sequence[Cell], edition: Edition, student: str) -> Iterator[str]:
    made, told = (Sheet(plan, cells, kind, student) for kind in ("student", "instructor"))
    for number, slide in enumerate(_slides(made, [c for c in cells_of(cells, edition) if "skip" not in c.tags])):
        yield ("</section>\n" if number else "") + "<section>\n"
        for cell in slide:
            if cell.tags & {"instructor", "solution"}:
                yield f'<div class="notes">{"".join(told.of(cell))}</div>\n'
            elif cell.name in made.shown and edition == "instructor":
                yield f'<div class="asked">{"".join(made.of(cell))}</div>\n'
                yield f'<div class="notes lecturer">{"".join(told.of(cell))}</div>\n'
            elif number or not cell.code:  # what opens the lab is no news to anybody
                yield from made.of(cell)
    keys = "Arrow keys: back and on. F: the whole screen." + (" N: notes and answers." * (edition == "instructor"))
    yield f'</section>\n<nav title="{text(keys)}"><button>‹</button><span></span><button>›</button></nav>\n'
    yield f"<script>{_SCRIPT}</script>\n"


def _slides(made: Sheet, cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cut a lab into slides: at its tags, around an exercise. How to fill in its cells is for the notebook only."""
    found: list[list[Cell]] = [[]]
    ends = ""
    for cell in cells:
        own = made.shown.get(cell.name)
        if ends and not cell.tags & {"instructor", "solution"}:
            if cell.name == ends:
                ends = ""
                found.append([])
            continue
        if found[-1] and (cell.tags & {"slide", "subslide"} or (own and len(found[-1]) > 1)):
            found.append([])
        found[-1].append(cell)
        ends = cell_name(own, "check") if own else ends
    return [slide for slide in found if slide]

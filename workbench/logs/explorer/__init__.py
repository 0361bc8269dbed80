"""What an explorer of logs shows, free of any user interface.

`columns` turns the records of a log into numeric columns, `selection` says what of them is chosen, `rows` keeps which
rows that are, `counting` counts them, `slices` is what each view of the explorer gets. `Explorer` (in `explorer`) holds
it together: a change of the selection or of the views in, slices out. A front end never holds all records: it gets
counts of cells, and the rows of the table that it shows.
"""

from workbench.logs.explorer.explorer import Explorer
from workbench.logs.explorer.selection import Brush, Selection, Views

__all__ = ["Brush", "Explorer", "Selection", "Views"]

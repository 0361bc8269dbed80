"""What a student did, kept beside the notebook; handed in; and judged anew by who grades it.

`lab_file` says who the student is, `journal` keeps events in a chain, `standing` folds them, `hand_in` makes a signed
file of them, and `verification` replays that file: what it says about points is never believed.
"""

from __future__ import annotations

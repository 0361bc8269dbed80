"""A lab's text: one source in Jupytext's percent format, from which every edition is made.

`percent` reads the format, `editions` makes the student's and the instructor's notebook, `sheet` a page to print,
`shipped` knows which sources there are. Nothing here runs a lab or knows its exercises' answers.
"""

"""The documentation that follows from declarations, and the site that carries it.

``python -m workbench.documentation`` writes every page that is made; a test compares them with what lies in ``docs/``.
`pages` lists them. Imports everything else; only the command ``docs`` imports it.
"""

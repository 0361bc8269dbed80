"""Fixtures of the tests of what JupyterLab loads."""

from browser import start

playwright = start.playwright

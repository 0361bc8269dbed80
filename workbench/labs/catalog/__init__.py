"""The labs: each module, or package, has one as ``LAB`` and is found by being there."""

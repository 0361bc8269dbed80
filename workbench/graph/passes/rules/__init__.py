"""Rewriting rules in tables: algebra, canonical forms, patterns, chains of views. Start with `rewriting`."""

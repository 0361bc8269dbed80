"""Passes that look at weights; the tutorials import the name."""

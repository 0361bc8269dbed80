"""Whole networks: which ones, and one fresh process per library and round."""

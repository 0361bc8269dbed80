"""A graph and what a log knows become an executable: compile, code cache, dynamic shapes."""

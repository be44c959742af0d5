"""Execution of a source over a trace, with counts."""

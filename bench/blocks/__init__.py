"""Generates programs, and models of their instructions, for `bench/insights_blocks.py`."""

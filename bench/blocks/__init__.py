"""Generated programs, and models that learn from them, for `bench/insights_blocks.py`."""

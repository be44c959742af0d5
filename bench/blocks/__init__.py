"""Programs that are made up, and models that learn from them: for `bench/insights_blocks.py`."""

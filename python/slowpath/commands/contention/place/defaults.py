"""What `slowpath contention place` takes where nothing else is said."""

POLICIES = ("monopolise", "greedy", "contention-aware", "bid-price", "optimal")
"""The policies that there are."""
POLICY = "contention-aware"
LENGTH = 500
"""Arrivals of a random sequence, as many as the paper's have (7.5.1)."""

"""Functions that nobody has to trust, run: compiled, confined, in processes that may die."""

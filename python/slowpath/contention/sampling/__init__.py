"""Which points of contention and traffic are worth measuring (paper, 5.2)."""

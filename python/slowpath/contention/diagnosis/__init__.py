"""Which resource holds a function back, by how much, and where that changes (paper, 7.5.2)."""

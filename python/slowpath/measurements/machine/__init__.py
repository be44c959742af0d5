"""What the machine says of itself: facts, and counters of what happens on it."""

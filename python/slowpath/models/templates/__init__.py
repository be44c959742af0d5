"""Templates of functions, and their fit to points."""

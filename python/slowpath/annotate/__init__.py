"""Command `slowpath annotate`: cost of every line and instruction on the slowest path."""

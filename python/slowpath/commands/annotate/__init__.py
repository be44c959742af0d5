"""The command `slowpath annotate`: source lines with the cost of the slowest path."""

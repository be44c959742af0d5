"""The command `slowpath annotate`, which shows the cost of each line on the slowest path."""

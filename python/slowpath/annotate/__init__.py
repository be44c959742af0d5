"""The slice `annotate`: what every line and instruction costs on the slowest path."""

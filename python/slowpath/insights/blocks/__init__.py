"""The command `slowpath insights blocks`: card instructions and memory accesses of each block."""

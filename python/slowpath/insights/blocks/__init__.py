"""Card instructions and memory accesses, block by block (`slowpath insights blocks`)."""

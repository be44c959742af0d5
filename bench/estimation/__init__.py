"""How near estimates are to measurements: measuring, simpler models, and judging."""

"""Command `slowpath sweep`: guarantees for every value of a definition."""

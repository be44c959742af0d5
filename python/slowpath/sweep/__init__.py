"""The slice `sweep`: guarantees for every value of a definition."""

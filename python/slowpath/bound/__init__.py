"""The slice `bound`: guarantees of programs, and the analyses that other slices start."""

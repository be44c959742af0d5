"""The slice `measure`: slowest paths, timed in the running kernel."""

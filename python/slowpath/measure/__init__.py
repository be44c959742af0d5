"""Command `slowpath measure`: slowest paths, timed in the running kernel."""

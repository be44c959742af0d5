"""Measurements in the running kernel: where they were made, and what disturbed them."""

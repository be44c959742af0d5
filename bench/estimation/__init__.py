"""Measures paths, fits simpler models, and compares their errors with those of estimates."""

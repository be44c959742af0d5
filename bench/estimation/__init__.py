"""Measures paths, and compares the errors of time estimates with those of simpler models."""

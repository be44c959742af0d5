"""Experiments: specifications, runs, samples and their evaluation."""

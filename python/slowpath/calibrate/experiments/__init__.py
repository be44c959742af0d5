"""Reads the specifications of experiments, runs the experiments and evaluates their samples."""

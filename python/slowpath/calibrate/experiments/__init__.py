"""Experiments that measure the costs of packet processing: specifications, runs and evaluation."""

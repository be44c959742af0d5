"""Calibration: runs experiments on this machine and derives a target file from their results."""

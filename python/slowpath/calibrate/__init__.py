"""Calibration: measures this machine by experiments, and derives a target file from the results.

A target file describes a machine, so that slowpath can estimate times of programs on it.
"""

"""Predicts how a source would run on a SmartNIC: useful cores, and effect of other functions."""

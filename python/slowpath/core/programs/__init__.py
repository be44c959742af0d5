"""Finds, compiles, loads and selects the programs to analyse, and describes packets."""

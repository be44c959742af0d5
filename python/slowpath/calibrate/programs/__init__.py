"""Generates the programs of experiments from templates, for each test bed."""

"""Generates packet-processing programs, and trains models of their instruction counts."""

"""Generates packet-processing programs, and trains models that predict their instruction counts."""

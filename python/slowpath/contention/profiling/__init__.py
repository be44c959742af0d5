"""Measures profiles of network functions on this machine."""

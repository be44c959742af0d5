"""Measures profiles of network functions on this machine: their throughput beside competitors."""

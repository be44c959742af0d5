"""Predicts the throughput and latency of network functions on the SmartNIC's cores.

A queueing network models cores and memories. Predictions are by number of cores, and for two
functions that share the SmartNIC.
"""

"""Predicts how fast a network function runs beside others that compete for the same resources.

The resources are caches and memory, and accelerators of the NIC. Source: Wu et al., "Tomur:
Traffic-Aware Performance Prediction of On-NIC Network Functions with Multi-Resource Contention"
(later named Yala). Modules name their deviations from the paper.
"""

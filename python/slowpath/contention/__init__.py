"""Prediction of network function throughput under contention, resource by resource.

Source: Wu et al., "Tomur: Traffic-Aware Performance Prediction of On-NIC Network Functions with
Multi-Resource Contention" (later named Yala). Modules name their deviations from the paper.
"""

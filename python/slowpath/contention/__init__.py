"""Predicts how fast a network function runs when other functions compete for the same resources.

Source: Wu et al., "Tomur: Traffic-Aware Performance Prediction of On-NIC Network Functions with
Multi-Resource Contention" (later named Yala). Modules name their deviations from the paper.
"""

"""The slice `contention`: network functions beside others, resource by resource.

Source: Wu et al., "Tomur: Traffic-Aware Performance Prediction of On-NIC Network Functions with
Multi-Resource Contention" (later named Yala). Files name their deviations from it.
"""

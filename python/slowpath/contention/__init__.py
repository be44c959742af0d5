"""How fast a network function runs beside others: resources modelled one by one, then composed.

Source: Wu et al., "Tomur: Traffic-Aware Performance Prediction of On-NIC Network Functions with
Multi-Resource Contention" (later named Yala). Where we go another way, the file says so.
"""

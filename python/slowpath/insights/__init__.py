"""Predicts what a network function would need on a SmartNIC, before anybody ports it."""

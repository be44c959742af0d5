"""Decides which memory of a SmartNIC each data structure should be in."""

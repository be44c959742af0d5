"""Algorithms that accelerators have, written down from their specifications to be compared with."""

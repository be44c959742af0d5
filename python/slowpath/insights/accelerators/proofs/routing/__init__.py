"""Proofs of longest prefix match: tables of routes, and functions that search them."""

"""Proofs by execution: what a function computes, found out from what it answers."""

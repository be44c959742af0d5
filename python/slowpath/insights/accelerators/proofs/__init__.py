"""Proofs that a function computes an algorithm of an accelerator."""

"""Proves by calls with chosen inputs that a function computes the algorithm of an accelerator.

The results of a function must equal those of a reference implementation in this package.
"""

"""Accelerators for code of a source: candidates by their looks, findings by proof.

Source: Clara (SOSP 2021), section 4.1. The classifier only orders candidates; proofs decide.
"""

"""Finds functions in a source that an accelerator of the card could replace.

Source: Clara (SOSP 2021), section 4.1. The classifier only suggests candidates; proofs decide.
"""

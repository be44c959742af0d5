"""Finds functions in a source that an accelerator of the SmartNIC could replace.

Source: Clara (SOSP 2021), section 4.1. The classifier only suggests functions; a function counts as
replaceable if its results agree with those of a reference algorithm.
"""

"""The command `slowpath insights accelerators`: finds functions that an accelerator could replace.

The accelerators are engines of the SmartNIC, such as one for CRC. Source: Clara (SOSP 2021),
section 4.1. The classifier only suggests functions; a function counts as replaceable if its results
agree with those of a reference algorithm.
"""

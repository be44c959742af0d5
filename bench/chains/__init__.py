"""Measures chains of example programs: rewritten, fused, connected by tail calls, and growing.

A chain consists of programs that process a packet one after the other.
"""

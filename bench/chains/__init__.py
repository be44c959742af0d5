"""Measures chains of example programs: rewritten, fused, connected by tail calls, and growing."""

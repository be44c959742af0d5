"""Measures chains of example programs: rewritten, fused, chained by tail calls, and ever longer."""

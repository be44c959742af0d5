"""Measures chains of example programs: rewritten, fused, with tail calls, and by length."""

"""Chains of example programs: rewritten, fused, beside tail calls, and longer and longer ones."""

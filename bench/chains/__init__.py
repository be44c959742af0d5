"""Chains of example programs: rewritten, fused, compared with tail calls, and of growing length."""

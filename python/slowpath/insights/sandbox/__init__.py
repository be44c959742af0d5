"""Runs untrusted functions as machine code in confined child processes."""

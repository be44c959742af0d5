"""Execution of untrusted functions: machine code of this process, confined, in forks."""

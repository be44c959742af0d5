"""Throughput guarantees for packet-processing programs.

The command line is in `slowpath.cli`; `slowpath.engine` runs the analysis itself, which is
compiled code. Nothing is imported here, so that the command line starts quickly.
"""

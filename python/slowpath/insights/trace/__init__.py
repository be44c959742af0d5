"""Execution of a function over a packet trace, with counts (`slowpath insights counts`)."""

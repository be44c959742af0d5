"""The command `slowpath insights coalescing`: orders the variables of a struct.

In the advised order, few memory accesses fetch the variables that code uses together.
"""

"""The command `slowpath insights`: predicts the needs of a network function on a SmartNIC.

The source is a C or C++ program for a CPU. The predictions cover instructions, memory accesses,
accelerators and cores, and help to decide whether a port is worth the effort.
"""

"""The command `slowpath insights FILE`: advice on how to port a network function to a SmartNIC.

The advice combines the results of the other insights commands: accelerators, placement of state,
order of variables, number of cores, and functions to share the SmartNIC with.
"""

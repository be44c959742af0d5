"""The command `slowpath insights placement`: the best memory for each data structure.

The SmartNIC has several memories, called levels, with different capacities and access costs.
"""

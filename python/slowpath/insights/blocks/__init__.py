"""The command `slowpath insights blocks`: SmartNIC instructions of each basic block.

The instructions are counted in compiled code where possible, else predicted by a learnt model.
"""

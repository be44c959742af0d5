"""The command `slowpath insights blocks`: SmartNIC instructions of each basic block."""

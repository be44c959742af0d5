"""The command `compile`: compilation of BPF programs for the SmartNIC."""

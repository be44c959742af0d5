"""The slice `compile`: BPF programs compiled for the SmartNIC."""

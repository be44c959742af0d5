"""The command `slowpath compile`, which compiles BPF programs for a SmartNIC."""

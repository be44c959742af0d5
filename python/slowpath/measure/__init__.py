"""The command `slowpath measure`, which times slow paths of BPF programs in the running kernel."""

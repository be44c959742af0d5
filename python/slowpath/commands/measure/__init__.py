"""The command `slowpath measure`: what paths cost in the running kernel."""

"""What a machine's core is like, from experiments on it: the `[timing]` of a target."""

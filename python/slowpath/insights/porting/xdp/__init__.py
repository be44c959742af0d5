"""XDP programs as this machine runs them: helpers, maps and packets as the kernel gives them."""

"""What program files are: read, compiled, chosen from, and the kernel's types they need."""

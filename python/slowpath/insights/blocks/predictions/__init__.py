"""What is asked of blocks, and the shape of the answer."""

"""Where a curve is cut into segments, and which template each gets."""

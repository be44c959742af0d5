"""Where functions go that arrive at a fleet of NICs (paper, 7.5.1)."""

"""What a fleet has, and what is known of mixes of its functions."""

"""What to change in a function before it is ported, from all that is known of it."""

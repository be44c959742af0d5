"""The command `slowpath compile`: programs as the card runs them."""

"""Advice on how to port a network function to the card (`slowpath insights FILE`)."""

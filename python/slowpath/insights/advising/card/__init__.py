"""Advice on the card as a whole: how many cores, and whom to share it with."""

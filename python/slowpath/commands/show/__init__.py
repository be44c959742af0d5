"""The command `slowpath show`: what objects contain."""

"""The command `slowpath insights`: what a function will need on a SmartNIC before it is ported."""

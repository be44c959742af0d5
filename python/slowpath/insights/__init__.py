"""Needs of a network function on a SmartNIC before it is ported (`slowpath insights`)."""

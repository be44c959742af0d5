"""What a network function will need on a SmartNIC before it is ported, and how to port it."""

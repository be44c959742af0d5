"""The command `slowpath insights FILE`: advice on how to port a network function to a SmartNIC."""

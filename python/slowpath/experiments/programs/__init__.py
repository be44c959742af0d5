"""What test beds are given for each point: a program, map entries and a packet."""

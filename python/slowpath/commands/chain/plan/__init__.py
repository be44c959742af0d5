"""`slowpath chain plan`: programs on the paths of a network, and which variants of them pay."""

"""The command `slowpath targets`, which lists, prints and checks descriptions of target devices."""

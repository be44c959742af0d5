"""The command `slowpath watch`, which analyses programs again after each save."""

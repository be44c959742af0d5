"""The command `slowpath config`: settings of a project."""

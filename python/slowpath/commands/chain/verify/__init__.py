"""The command `slowpath chain verify`."""

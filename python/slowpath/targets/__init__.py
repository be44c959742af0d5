"""The command `slowpath targets`, which describes devices."""

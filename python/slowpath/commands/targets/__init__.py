"""The command `slowpath targets`: the devices."""

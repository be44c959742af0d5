"""The command `targets`: descriptions of devices."""

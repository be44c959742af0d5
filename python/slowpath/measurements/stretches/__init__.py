"""Where the time of a path goes: stretches between points at which it is cut."""

"""Experiments: what one component of a data plane costs, by one parameter that is swept."""

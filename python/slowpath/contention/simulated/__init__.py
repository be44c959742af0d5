"""Profiles of functions on the simulated NIC, as tables that say that they are simulated."""

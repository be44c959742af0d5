"""How well predictions do on the simulated NIC: what is profiled, what is asked, and judging."""

"""Work for many processes: of this machine, or of a cluster."""

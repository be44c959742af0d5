"""Many programs, analysed in processes of this machine or of a cluster."""

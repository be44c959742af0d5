"""Functions that are no programs, as programs: what takes a packet gets one from XDP."""

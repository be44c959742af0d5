"""The parameters of this machine's core, fitted to measurements."""

"""The commands, one package each."""

"""The command `slowpath reproduce`: published figures, recomputed and compared."""

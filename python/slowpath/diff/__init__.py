"""The command `slowpath diff`, which shows how a change affects the guarantees of programs."""

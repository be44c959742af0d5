"""The command `slowpath schema`: the shape of what other commands write as JSON."""

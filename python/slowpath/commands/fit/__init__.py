"""The command `slowpath fit`: a model of anybody's measurements."""

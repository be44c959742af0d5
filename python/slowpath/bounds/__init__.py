"""The command `slowpath bound`, and the analyses that other commands use."""

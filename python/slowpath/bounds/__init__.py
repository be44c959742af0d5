"""The command `slowpath bound`, and the analyses of programs that other commands share."""

"""The command `slowpath bound`: what is guaranteed."""

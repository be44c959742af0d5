"""The command `slowpath insights counts`, which runs a function over a packet trace."""

"""Code shared by all commands: command line, files, jobs, JSON documents, engine, HTML pages."""

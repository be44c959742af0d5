"""Code that all commands share: command line, files, jobs, JSON documents, engine, HTML pages."""

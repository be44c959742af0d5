"""Shared by all slices: command line, files, jobs, documents, engine, pages."""

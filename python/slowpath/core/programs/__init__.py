"""Program files and packets: kinds of files, loading, compilation, selection."""

"""Functions of a module, called with chosen arguments."""

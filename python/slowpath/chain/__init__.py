"""The commands `slowpath chain`, for programs that process the same packet one after another."""

"""In which order the variables of a function should be, so that one access fetches many."""

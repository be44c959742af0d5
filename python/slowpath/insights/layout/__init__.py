"""Orders the variables of a struct so that few memory accesses fetch them."""

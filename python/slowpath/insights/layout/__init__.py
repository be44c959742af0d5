"""Order of variables such that few accesses fetch them."""

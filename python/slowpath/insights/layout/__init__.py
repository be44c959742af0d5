"""Layout of variables in structs such that few accesses fetch them."""

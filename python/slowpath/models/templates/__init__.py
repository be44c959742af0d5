"""Function templates, in the order in which the first of equally good ones is taken."""

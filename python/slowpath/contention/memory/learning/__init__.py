"""Models of rows: features, kinds of models, and what is compared."""

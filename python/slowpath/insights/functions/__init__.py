"""Network functions as the synthetic ones are described: elements of a chain, with parameters."""

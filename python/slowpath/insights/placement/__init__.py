"""On which memory of a card each data structure of a network function should be."""

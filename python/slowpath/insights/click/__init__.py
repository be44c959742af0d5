"""Click configurations: language, graph, sources of the elements, and runs of all of them."""

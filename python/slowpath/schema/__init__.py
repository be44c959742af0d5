"""The shape of results and of other documents, and the quantities in them."""

"""How packets come to a function, and which of them are left."""

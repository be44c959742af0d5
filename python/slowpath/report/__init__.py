"""Results as texts and tables, for people and machines."""

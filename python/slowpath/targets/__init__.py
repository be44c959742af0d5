"""The slice `targets`: device descriptions."""

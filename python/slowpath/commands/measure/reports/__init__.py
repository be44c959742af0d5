"""What was measured, as text for people and as CSV."""

"""Programs with what every line costs, and the text of these lines."""

"""Tables with profiles, queries and mixes."""

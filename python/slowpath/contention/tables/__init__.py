"""Tables of profiles, queries and mixes."""

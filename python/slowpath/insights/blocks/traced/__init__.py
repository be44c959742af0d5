"""What each block of a function takes on the card, with how often it ran over a trace."""

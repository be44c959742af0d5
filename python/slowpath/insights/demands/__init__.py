"""What packets of any function need of the card, from counts and prices, not from elements."""

"""With whom a function may share the card: pairs of a group, by what sharing costs them."""

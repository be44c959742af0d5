"""A function run over a trace as a card would run it: how often its blocks run, what they touch."""

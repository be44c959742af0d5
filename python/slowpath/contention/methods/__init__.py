"""Ways to predict: which one is selected, and which execution pattern a model takes."""

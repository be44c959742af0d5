"""`slowpath watch`: analyses of programs after each save, with the differences."""

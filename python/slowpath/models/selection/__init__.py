"""Which of the best models of each size is taken: rules, one file each."""

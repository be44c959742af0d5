"""What all commands that analyse programs share: options, what there is to analyse, results."""

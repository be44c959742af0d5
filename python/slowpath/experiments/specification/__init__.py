"""What an experiment is: read from YAML, with the place of whatever is wrong."""

"""The directory of a run: everything that was made and measured, so that it can be made again."""

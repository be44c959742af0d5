"""`slowpath completion` and `slowpath man`: files for shells and manuals, from the command data."""

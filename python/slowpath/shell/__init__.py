"""`slowpath completion` and `slowpath man`: generate completion scripts and manual pages."""

"""Generates completion scripts (`slowpath completion`) and manual pages (`slowpath man`)."""

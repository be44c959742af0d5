"""Tests whether functions compute the algorithms of accelerators, by calls with chosen inputs."""

"""Reference implementations of the algorithms of accelerators."""

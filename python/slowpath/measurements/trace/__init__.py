"""A trace that ran through a program: its shape as data, in sentences and as a picture."""

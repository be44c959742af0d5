"""The compiled engine for the rest of the package: no other folder imports it.

It knows no command line and prints nothing.
"""

"""Interface of the compiled engine (`slowpath._core`): only this folder imports it.

The modules here do not depend on the command line and do not print.
"""

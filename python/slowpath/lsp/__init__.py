"""`slowpath lsp`: a language server that shows bounds and costs in editors.

The protocol is the part of LSP 3.17 (microsoft.github.io/language-server-protocol) that costs need.
It takes no package: pygls would take longer to import than all of slowpath.
"""

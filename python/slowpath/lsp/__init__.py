"""`slowpath lsp`: a language server that shows bounds and costs in editors.

The server implements the part of LSP 3.17 (microsoft.github.io/language-server-protocol) that is
needed to show costs. It does not use a package such as pygls, whose import takes longer than that
of slowpath.
"""

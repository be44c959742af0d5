"""Sources: compilation to LLVM IR, functions, types, entry, framework."""

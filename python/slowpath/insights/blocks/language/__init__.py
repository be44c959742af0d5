"""What LLVM's language says of a function: operands, where pointers come from, accesses, calls."""

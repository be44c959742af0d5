"""Instructions and memory accesses on the card, by block of LLVM's intermediate language."""

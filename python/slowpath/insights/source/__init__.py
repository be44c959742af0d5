"""Compiles sources to LLVM IR, and finds their functions, types and entry function."""

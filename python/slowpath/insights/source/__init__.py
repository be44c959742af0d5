"""Compiles sources to LLVM IR, and finds their functions, types and the entry function.

The entry is the function that receives packets.
"""

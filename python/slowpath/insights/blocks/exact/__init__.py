"""The exact way: clang's back end for BPF, then our code generator for the card."""

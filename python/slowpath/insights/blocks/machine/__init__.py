"""BPF assembler of LLVM, interpreted abstractly."""

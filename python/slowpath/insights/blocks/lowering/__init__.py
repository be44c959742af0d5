"""From LLVM's language of any source to instructions of BPF, by llvmlite's back end."""

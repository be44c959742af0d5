"""The learnt way: instructions of blocks, from words for what LLVM's language has in them."""

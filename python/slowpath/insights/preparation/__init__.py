"""A source as LLVM's intermediate language: functions, control flow, lines, and what is refused."""


char LICENSE[] SEC("license") = "Dual MIT/GPL";

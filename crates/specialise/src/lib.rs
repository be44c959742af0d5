//! BPF programs rewritten for what is known of their packets.

pub mod fuse;

//! All integration tests of the P4 front end, in a single test program, which saves link time.

mod calls;
mod constants;
mod dpdk;
mod entries;
mod headers;
mod packets;
mod parser;
mod preprocess;
mod preprocess_faults;
mod preprocess_files;
mod runtime;
mod support;
mod swx;
mod tables;
mod translation;
mod types;
mod walk;

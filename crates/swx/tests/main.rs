//! All integration tests of pipelines, in a single test program, which saves link time.

mod dpdk;
mod driver;
mod generate;
mod roundtrip;
mod translation;
mod work;

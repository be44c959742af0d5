//! Tests of pipelines. All of them are in one binary, so that it is linked only once.

mod dpdk;
mod driver;
mod generate;
mod roundtrip;
mod translation;
mod work;

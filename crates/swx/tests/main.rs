//! Tests of pipelines. All of them are in one binary, so that it is linked only once.

mod dpdk;
mod generate;
mod interpreter;
mod roundtrip;
mod translation;

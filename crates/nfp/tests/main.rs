//! Tests of NFP listings. All of them are in one binary, so that it is linked only once.

mod common;
mod differential;
mod generate;
mod listings;
mod objdump;

mod alu;
mod calls;
mod flow;
mod frame;
mod memory;
mod published;
mod published_pairs;
mod refusals;
mod roundtrip;
mod shift;
mod translation;
mod words;

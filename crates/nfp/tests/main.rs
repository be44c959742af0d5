//! Tests of NFP listings, in one program that is linked once.

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

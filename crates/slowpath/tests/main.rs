//! Tests of guarantees of whole programs. All of them are in one binary, so that it is linked only
//! once.

mod common;

mod arriving;
mod certificates;
mod chains;
mod compiled;
mod examples;
mod exhaustive;
mod far_offsets;
mod feature_interactions;
mod guarantee_fuzzing;
mod loops;
mod maps;
mod objects;
mod packet;
mod packet_lengths;
mod pipelines;
mod profile;
mod receive;
mod refusals;
mod show;
mod solvers;
mod stopping;
mod sums;
mod verify;
mod witnesses;

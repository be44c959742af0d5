//! Tests of this crate, and tests that compare the product with the running kernel. All tests are
//! in one program, so that it is linked only once.

mod support;

mod availability;
mod c_programs;
mod chain_examples;
mod chains;
mod connections;
mod contents;
mod counts;
mod cpus;
mod devices;
mod elements;
mod examples;
mod feature_interactions;
mod feeding;
mod fingerprints;
mod generated;
mod helpers;
mod instruction_terms;
mod instructions;
mod interleavings;
mod licenses;
mod live;
mod loaders;
mod loading;
mod loops;
mod machine_code;
mod map_consistency;
mod maps;
mod merged;
mod namespaces;
mod object_writer;
mod p4;
mod p4_expressions;
mod p4_statements;
mod packet;
mod random_packets;
mod rejections;
mod sequences;
mod timing;
mod tries;
mod veth;
mod wires;
mod witnesses;

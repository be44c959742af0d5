//! The running kernel, and the product compared with it: all tests as one program, which links once.

mod support;

mod availability;
mod c_programs;
mod chain_examples;
mod chains;
mod connections;
mod consistent;
mod contents;
mod counts;
mod cpus;
mod devices;
mod elements;
mod examples;
mod feeding;
mod fingerprints;
mod generated;
mod helpers;
mod instruction_terms;
mod instructions;
mod licenses;
mod live;
mod loading;
mod machine_code;
mod maps;
mod merged;
mod namespaces;
mod packet;
mod random_packets;
mod rejections;
mod seams;
mod sequences;
mod timing;
mod tries;
mod witnesses;
mod written;

//! Tests of chains. All of them are in one binary, so that it is linked only once.

#[path = "../../specialise/tests/support/assemble.rs"]
mod assemble;
#[path = "support/pairs.rs"]
mod pairs;
#[path = "support/random.rs"]
mod random;

mod around;
mod calls;
mod equivalence;
mod facts;
mod few_values;
mod frozen;
mod mutants;
mod profitable_guards;
mod random_optimize;
mod random_pairs;
mod together;
mod unseen;
mod verify;

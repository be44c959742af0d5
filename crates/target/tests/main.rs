//! Device descriptions and costs: all tests as one program, which links once.

mod cost_automaton;
mod documentation;
mod exact_rates;
mod mangled_descriptions;

//! Tests of device descriptions and costs, in a single program that is linked once.

mod cost_automaton;
mod documentation;
mod exact_rates;
mod mangled_descriptions;

//! Tests of target descriptions and costs, in one test binary, which links once.

mod cost_automaton;
mod documentation;
mod exact_rates;
mod mangled_descriptions;

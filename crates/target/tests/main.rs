//! Contains all integration tests of target descriptions and costs in one test binary, so that they
//! are linked only once.

mod cost_automaton;
mod documentation;
mod exact_rates;
mod mangled_descriptions;

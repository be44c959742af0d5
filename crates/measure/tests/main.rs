//! Tests of timed paths, in a single program that is linked once.

mod assembled;
mod counter;

mod changes;
mod cold;
mod later;
mod live;
mod stretches;
mod traces;

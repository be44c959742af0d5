//! Timed paths: all tests as one program, which links once.

mod assembled;
mod counter;

mod changes;
mod cold;
mod later;
mod live;
mod stretches;
mod traces;

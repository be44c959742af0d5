//! What an analysis is doing, in the words of messages: "deadline while ...".

/// Reading the file, its types and relocations.
pub(crate) const READING: &str = "reading the program";
/// Compiling for the card.
pub(crate) const COMPILING: &str = "compiling the program for the card";
/// Giving instructions their meaning.
pub(crate) const LIFTING: &str = "translating the program";
/// Looking for what holds of the packets that programs in front send.
pub(crate) const ARRIVING: &str = "looking for facts about the packets that arrive";
/// Executing all paths together.
pub(crate) const UNROLLING: &str = "unrolling the program";
/// Looking for the slowest path.
pub(crate) const SEARCHING: &str = "searching for the slowest path";
/// Replaying the path that was found, and attributing its cost.
pub(crate) const REPORTING: &str = "replaying the slowest path";
/// Comparing a program with what it was compiled from.
pub(crate) const VERIFYING: &str = "verifying the compiled program";
/// Looking for programs of a chain that no packet reaches.
pub(crate) const REACHING: &str = "looking for programs that no packet reaches";
/// Looking for the paths that are estimated to take longest.
pub(crate) const ESTIMATING: &str = "estimating the slowest paths";

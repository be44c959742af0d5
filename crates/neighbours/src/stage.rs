//! What a function does with the headers of a packet.

use crate::header::Header;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It goes on.
    Pass,
    /// It ends here.
    Drop,
}

/// A stage that looks at headers. Nothing of it allocates for each packet, but tables that grow.
pub trait Stage: Send {
    /// Does its work for one packet.
    fn process(&mut self, header: &mut Header) -> Verdict;
}

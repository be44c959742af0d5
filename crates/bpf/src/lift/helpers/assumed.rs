//! Helpers and kernel functions that are not supported, and taken for harmless on request (`--assume`).

use crate::lift::lifter::Lifter;

impl Lifter<'_> {
    /// Lists that something is taken for harmless.
    pub(super) fn assume_harmless(&mut self, name: &str, reason: String) {
        let sentence = format!(
            "{name} returns any value and changes nothing that the program sees: {reason} (--assume)"
        );
        self.assume(sentence);
    }
}

/// What to do about something that is not supported.
pub(super) fn assume_hint(name: &str) -> String {
    format!(
        "docs/support.md lists what is; [helper.{name}] in a file given with --assume takes it for \
         harmless"
    )
}

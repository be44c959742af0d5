//! Defines the actions of XDP programs.

/// An action of an XDP program (`enum xdp_action`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// `XDP_ABORTED`. The kernel frees the packet, as for `XDP_DROP`. Invalid return values count
    /// as this action, too: the kernel logs a warning for the first one.
    Aborted,
    /// `XDP_DROP`
    Drop,
    /// `XDP_PASS`
    Pass,
    /// `XDP_TX`
    Tx,
    /// `XDP_REDIRECT`, through a devmap.
    Redirect,
}

impl Action {
    /// All actions, in the order of their numbers.
    pub const ALL: [Action; 5] =
        [Action::Aborted, Action::Drop, Action::Pass, Action::Tx, Action::Redirect];

    /// Returns the action with this number. Returns [`Action::Aborted`] for an invalid number,
    /// because the kernel frees the packet in both cases.
    pub fn of(number: u32) -> Action {
        let known = usize::try_from(number).ok().and_then(|number| Action::ALL.get(number));
        known.copied().unwrap_or(Action::Aborted)
    }

    /// Returns true if the action sends the packet through a device.
    pub fn sends(self) -> bool {
        matches!(self, Action::Tx | Action::Redirect)
    }

    /// Returns the name under which the generated program that only returns this action is loaded.
    pub(super) fn name(self) -> &'static str {
        match self {
            Action::Aborted => "aborted",
            Action::Drop => "drop",
            Action::Pass => "pass",
            Action::Tx => "tx",
            Action::Redirect => "redirect",
        }
    }
}

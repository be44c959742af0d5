//! What programs have done with packets.

/// What a program can have done with a packet (`enum xdp_action`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// `XDP_ABORTED`, which is freed like `XDP_DROP`, as invalid actions are. The kernel writes about
    /// the first of them to its log.
    Aborted,
    /// `XDP_DROP`
    Drop,
    /// `XDP_PASS`
    Pass,
    /// `XDP_TX`
    Tx,
    /// `XDP_REDIRECT`, through a map of devices.
    Redirect,
}

impl Action {
    /// All, in the order of their numbers.
    pub const ALL: [Action; 5] =
        [Action::Aborted, Action::Drop, Action::Pass, Action::Tx, Action::Redirect];

    /// The one with this number; invalid ones are freed like [`Action::Aborted`].
    pub fn of(number: u32) -> Action {
        let known = usize::try_from(number).ok().and_then(|number| Action::ALL.get(number));
        known.copied().unwrap_or(Action::Aborted)
    }

    /// Whether packets leave through a device.
    pub fn sends(self) -> bool {
        matches!(self, Action::Tx | Action::Redirect)
    }

    /// Its name, for programs.
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

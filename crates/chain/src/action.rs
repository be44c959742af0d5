//! The actions that an XDP program can return (`enum xdp_action` of `include/uapi/linux/bpf.h`),
//! with their names and numbers.

use slowpath_bpf::XDP_ACTIONS;

/// An XDP action: the verdict of a program on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// The packet is dropped and an error is traced.
    Aborted,
    /// The packet is dropped.
    Drop,
    /// The packet continues to the network stack.
    Pass,
    /// The packet is sent out of the device that received it.
    Tx,
    /// The packet is sent to a destination that the program has set with a helper, such as
    /// `bpf_redirect_map`.
    Redirect,
}

/// All actions, in the order of their values.
const ALL: [Action; 5] =
    [Action::Aborted, Action::Drop, Action::Pass, Action::Tx, Action::Redirect];

impl Action {
    /// Returns the action with the given name, such as `XDP_PASS`, or `None` if no action has this
    /// name.
    pub fn named(name: &str) -> Option<Action> {
        ALL.into_iter().find(|action| action.name() == name)
    }

    /// Returns the action with the given return value, or `None` if no action has this value.
    pub fn of(number: u32) -> Option<Action> {
        ALL.into_iter().find(|action| action.number() == number)
    }

    /// Returns the name of the action, such as `XDP_PASS`.
    pub fn name(self) -> &'static str {
        XDP_ACTIONS[self.number() as usize]
    }

    /// Returns the number that an XDP program returns to choose this action.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// Returns the names of all actions, separated by commas, for error messages.
    pub fn names() -> String {
        XDP_ACTIONS.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_kernel() {
        assert_eq!(ALL.map(Action::number), [0, 1, 2, 3, 4]);
        for action in ALL {
            assert_eq!(Action::named(action.name()), Some(action));
            assert_eq!(Action::of(action.number()), Some(action));
        }
        assert_eq!(Action::named("PASS"), None);
    }
}

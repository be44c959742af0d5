//! What XDP programs return (`enum xdp_action` of `include/uapi/linux/bpf.h`).

use slowpath_bpf::XDP_ACTIONS;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// It is dropped, as after an error.
    Aborted,
    /// It is dropped.
    Drop,
    /// It goes on to the network stack.
    Pass,
    /// It goes back out of the device that it came from.
    Tx,
    /// It goes where a map or helper says.
    Redirect,
}

/// All of them, by number.
const ALL: [Action; 5] =
    [Action::Aborted, Action::Drop, Action::Pass, Action::Tx, Action::Redirect];

impl Action {
    /// The action of this name, such as `XDP_PASS`.
    pub fn named(name: &str) -> Option<Action> {
        ALL.into_iter().find(|action| action.name() == name)
    }

    /// The action that programs return this number for.
    pub fn of(number: u32) -> Option<Action> {
        ALL.into_iter().find(|action| action.number() == number)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        XDP_ACTIONS[self.number() as usize]
    }

    /// What programs return for it.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// The names of all, for messages.
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

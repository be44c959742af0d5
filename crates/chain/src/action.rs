//! What XDP programs return (`enum xdp_action` of `include/uapi/linux/bpf.h`).

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
const ALL: [(Action, &str); 5] = [
    (Action::Aborted, "XDP_ABORTED"),
    (Action::Drop, "XDP_DROP"),
    (Action::Pass, "XDP_PASS"),
    (Action::Tx, "XDP_TX"),
    (Action::Redirect, "XDP_REDIRECT"),
];

impl Action {
    /// The action of this name, such as `XDP_PASS`.
    pub fn named(name: &str) -> Option<Action> {
        ALL.iter().find(|(_, known)| *known == name).map(|&(action, _)| action)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        ALL[self.number() as usize].1
    }

    /// What programs return for it.
    pub fn number(self) -> u32 {
        self as u32
    }

    /// The names of all, for messages.
    pub fn names() -> String {
        ALL.map(|(_, name)| name).join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_kernel() {
        assert_eq!(ALL.map(|(action, _)| action.number()), [0, 1, 2, 3, 4]);
        for (action, name) in ALL {
            assert_eq!((Action::named(name), action.name()), (Some(action), name));
        }
        assert_eq!(Action::named("PASS"), None);
    }
}

//! Schedule of the next events: at most one for each thread and accelerator.

use crate::time::Time;

const NEVER: Time = Time::MAX;

/// Times of the next events, by actor: a thread or an accelerator.
#[derive(Debug)]
pub struct Schedule {
    when: Vec<Time>,
}

impl Schedule {
    /// Creates an empty schedule for `count` actors.
    pub fn new(count: usize) -> Self {
        Schedule { when: vec![NEVER; count] }
    }

    /// Schedules an actor's next event.
    pub fn set(&mut self, who: usize, at: Time) {
        self.when[who] = at;
    }

    /// Removes the first event, and returns its actor and time. Simultaneous events have the order
    /// of their actors. There are few actors, so a linear search is fastest.
    pub fn next(&mut self) -> Option<(usize, Time)> {
        let mut first = 0;
        let mut at = NEVER;
        for (who, &when) in self.when.iter().enumerate() {
            if when < at {
                at = when;
                first = who;
            }
        }
        if at == NEVER {
            return None;
        }
        self.when[first] = NEVER;
        Some((first, at))
    }
}

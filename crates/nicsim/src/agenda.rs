//! What happens next: of each thread and each accelerator at most one thing.

use crate::time::Time;

const NEVER: Time = Time::MAX;

/// When each of so many is to act.
#[derive(Debug)]
pub struct Agenda {
    when: Vec<Time>,
}

impl Agenda {
    /// Nobody is to act.
    pub fn new(count: usize) -> Self {
        Agenda { when: vec![NEVER; count] }
    }

    /// One is to act at a time.
    pub fn set(&mut self, who: usize, at: Time) {
        self.when[who] = at;
    }

    /// Who acts first, the lowest number among those who act at once; it is off the agenda then.
    /// They are few, so looking at all is fastest.
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

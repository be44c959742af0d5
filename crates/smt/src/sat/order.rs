//! Order in which the SAT solver decides variables. Variables with the most recent conflicts come
//! first; among equal variables, the oldest one. Inputs are older than the outputs computed from
//! them.

/// Maximum activity of a variable. All activities are scaled down when one of them exceeds it.
const LIMIT: f64 = 1e100;
const DECAY: f64 = 0.95;
const ABSENT: u32 = u32::MAX;

/// A heap of variables, ordered by activity: a count of conflicts in which later conflicts weigh
/// more.
#[derive(Debug)]
pub(super) struct Order {
    heap: Vec<u32>,
    /// Position of each variable in the heap; `ABSENT` if it is not in the heap.
    places: Vec<u32>,
    activity: Vec<f64>,
    bump: f64,
}

impl Default for Order {
    fn default() -> Self {
        Order { heap: Vec::new(), places: Vec::new(), activity: Vec::new(), bump: 1.0 }
    }
}

impl Order {
    /// Adds a new variable, which is not yet in the heap.
    pub(super) fn grow(&mut self) {
        self.places.push(ABSENT);
        self.activity.push(0.0);
    }

    pub(super) fn clear(&mut self) {
        for &variable in &self.heap {
            self.places[variable as usize] = ABSENT;
        }
        self.heap.clear();
    }

    /// Inserts a variable unless the heap contains it.
    pub(super) fn insert(&mut self, variable: usize) {
        if self.places[variable] == ABSENT {
            self.places[variable] = self.heap.len() as u32;
            self.heap.push(variable as u32);
            self.rise(self.heap.len() - 1);
        }
    }

    /// Removes and returns the variable with the highest activity.
    pub(super) fn pop(&mut self) -> Option<usize> {
        let last = self.heap.len().checked_sub(1)?;
        self.swap(0, last);
        let first = self.heap.pop()?;
        self.places[first as usize] = ABSENT;
        self.sink(0);
        Some(first as usize)
    }

    /// Raises the activity of a variable that took part in a conflict, so that it is decided
    /// earlier.
    pub(super) fn bump(&mut self, variable: usize) {
        self.activity[variable] += self.bump;
        if self.activity[variable] > LIMIT {
            self.activity.iter_mut().for_each(|activity| *activity /= LIMIT);
            self.bump /= LIMIT;
        }
        let place = self.places[variable];
        if place != ABSENT {
            self.rise(place as usize);
        }
    }

    /// Reduces the weight of all conflicts so far relative to that of later conflicts.
    pub(super) fn decay(&mut self) {
        self.bump /= DECAY;
    }

    fn before(&self, a: u32, b: u32) -> bool {
        let (x, y) = (self.activity[a as usize], self.activity[b as usize]);
        x > y || (x == y && a < b)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.places[self.heap[a] as usize] = a as u32;
        self.places[self.heap[b] as usize] = b as u32;
    }

    fn rise(&mut self, mut at: usize) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if !self.before(self.heap[at], self.heap[parent]) {
                break;
            }
            self.swap(at, parent);
            at = parent;
        }
    }

    fn sink(&mut self, mut at: usize) {
        loop {
            let mut child = 2 * at + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.before(self.heap[child + 1], self.heap[child]) {
                child += 1;
            }
            if !self.before(self.heap[child], self.heap[at]) {
                break;
            }
            self.swap(at, child);
            at = child;
        }
    }
}

//! Which variable to decide next: the one that took part in most conflicts lately, of equal ones the
//! oldest. Inputs are older than what is computed from them.

/// Activities are scaled down beyond this.
const LIMIT: f64 = 1e100;
const DECAY: f64 = 0.95;
const ABSENT: u32 = u32::MAX;

/// A heap of variables by activity.
#[derive(Debug)]
pub(super) struct Order {
    heap: Vec<u32>,
    /// Where in the heap a variable is.
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
    /// One more variable.
    pub(super) fn grow(&mut self) {
        self.places.push(ABSENT);
        self.activity.push(0.0);
    }

    /// Leaves nothing in the heap.
    pub(super) fn clear(&mut self) {
        for &variable in &self.heap {
            self.places[variable as usize] = ABSENT;
        }
        self.heap.clear();
    }

    /// Puts a variable in, unless it is there.
    pub(super) fn insert(&mut self, variable: usize) {
        if self.places[variable] == ABSENT {
            self.places[variable] = self.heap.len() as u32;
            self.heap.push(variable as u32);
            self.rise(self.heap.len() - 1);
        }
    }

    /// Takes the first one out.
    pub(super) fn pop(&mut self) -> Option<usize> {
        let last = self.heap.len().checked_sub(1)?;
        self.swap(0, last);
        let first = self.heap.pop()?;
        self.places[first as usize] = ABSENT;
        self.sink(0);
        Some(first as usize)
    }

    /// A variable took part in a conflict.
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

    /// What was before counts less.
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

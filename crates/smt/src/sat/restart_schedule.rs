//! Decides when the search restarts and when learnt clauses are deleted. Restarts depend on the
//! quality of learnt clauses, measured by their number of decision levels (dynamic restarts, as in
//! Glucose by Audemard and Simon).

/// Minimum number of conflicts between two restarts.
const SHORTEST_RUN: u64 = 30;
/// Factor by which the recent mean number of decision levels must exceed the overall mean for a
/// restart.
const WORSE: f64 = 1.2;
/// Number of conflicts before the first deletion of learnt clauses. From deletion to deletion, this
/// number grows by `LATER_REDUCTION`.
const FIRST_REDUCTION: u64 = 3000;
const LATER_REDUCTION: u64 = 600;

/// Decides when the search restarts and when learnt clauses are deleted.
#[derive(Debug)]
pub(super) struct RestartSchedule {
    /// Mean number of decision levels in recently learnt clauses; the field `overall` is the mean
    /// over all learnt clauses.
    recent_levels: f64,
    overall: f64,
    conflicts: u64,
    pub(super) since_restart: u64,
    next_reduction: u64,
    reductions: u64,
}

impl Default for RestartSchedule {
    fn default() -> Self {
        RestartSchedule {
            recent_levels: 0.0,
            overall: 0.0,
            conflicts: 0,
            since_restart: 0,
            next_reduction: FIRST_REDUCTION,
            reductions: 0,
        }
    }
}

impl RestartSchedule {
    pub(super) fn learnt(&mut self, levels: u32) {
        let levels = f64::from(levels);
        self.recent_levels += (levels - self.recent_levels) / 32.0;
        self.overall += (levels - self.overall) / 4096.0_f64.min(1.0 + self.conflicts as f64);
        self.conflicts += 1;
        self.since_restart += 1;
    }

    pub(super) fn restart_is_due(&mut self) -> bool {
        let due = self.since_restart >= SHORTEST_RUN && self.recent_levels > WORSE * self.overall;
        if due {
            self.since_restart = 0;
        }
        due
    }

    pub(super) fn reduction_is_due(&mut self) -> bool {
        let due = self.conflicts >= self.next_reduction;
        if due {
            self.reductions += 1;
            self.next_reduction =
                self.conflicts + FIRST_REDUCTION + LATER_REDUCTION * self.reductions;
        }
        due
    }
}

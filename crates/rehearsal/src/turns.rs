//! Evaluates the times of programs that were measured alternately.
//!
//! If a program changes its packet, a wrapper in front of it restores the packet between runs and
//! reads the clock (`slowpath_kernel::timing::Wrapper`). Part of this work is contained in the
//! measured time. To remove it, the time of an empty program with the same wrapper is subtracted,
//! and the time of an empty program without a wrapper is added. The latter is the time of the
//! kernel's own loop (`BPF_PROG_TEST_RUN` with `repeat`), which every test run includes.

/// Minimum time of each program in nanoseconds, without the loop of `BPF_PROG_TEST_RUN`. Below this
/// time, the ratio of times is not computed, because the address of the code alone changes a time
/// by half a nanosecond.
const MIN_NS: f64 = 5.0;

/// Times of all programs in one round of measurement, in nanoseconds for each run. A program is
/// timed in several calls, each with many runs. The time is the mean of the fastest call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Turn {
    /// Time of the original program, in nanoseconds for each run.
    pub original: f64,
    /// Time of the rewritten program, in nanoseconds for each run.
    pub rewritten: f64,
    /// Time of a second copy of the original program, in nanoseconds for each run.
    pub copy: f64,
    /// Time of an empty program in nanoseconds, with a wrapper that restores the packet if the
    /// other programs have one.
    pub empty: f64,
    /// Time of an empty program in nanoseconds, without a wrapper that restores the packet. Equal
    /// to `empty` if no program has a wrapper.
    pub unwrapped: f64,
}

/// Medians of the times and ratios over many rounds of measurement. Times are in nanoseconds, and
/// converted to those of programs without a wrapper that restores the packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    pub original: f64,
    pub rewritten: f64,
    pub frame: f64,
    /// Time in nanoseconds that restoring the packet adds to each run. It is already subtracted
    /// from the other times.
    pub restoring: f64,
    /// Time of the rewritten program divided by that of the original. Both times include the loop
    /// of `BPF_PROG_TEST_RUN`, which repeats the program.
    pub ratio: f64,
    /// First and third quartile of `ratio` over all rounds of measurement.
    pub quartiles: [f64; 2],
    /// Time of a second copy of the original program divided by the original's time. Both include
    /// the loop of `BPF_PROG_TEST_RUN`.
    pub copy_ratio: f64,
    /// Time of the rewritten program divided by that of the original, without the loop of
    /// `BPF_PROG_TEST_RUN` that frames each run. `None` if a program takes less than [`MIN_NS`].
    pub without_frame: Option<f64>,
}

impl Turn {
    /// Converts the time of a program with a wrapper, which restores the packet, to the time that
    /// it would have in the kernel's loop without a wrapper.
    fn in_plain_loop(&self, time: f64) -> f64 {
        self.unwrapped + (time - self.empty).max(0.0)
    }

    /// Returns the time of a program divided by that of the original, after converting both to
    /// times without a wrapper.
    fn by_original(&self, time: f64) -> f64 {
        self.in_plain_loop(time) / self.in_plain_loop(self.original).max(f64::MIN_POSITIVE)
    }
}

impl Figures {
    /// Computes the medians over all rounds of measurement. Returns `None` if there are no rounds.
    pub fn new(turns: &[Turn]) -> Option<Figures> {
        let of = |value: &dyn Fn(&Turn) -> f64| turns.iter().map(value).collect::<Vec<f64>>();
        let ratios = of(&|turn| turn.by_original(turn.rewritten));
        let own = |time: &dyn Fn(&Turn) -> f64| median(of(&|turn| time(turn) - turn.empty));
        let (original, rewritten) = (own(&|turn| turn.original)?, own(&|turn| turn.rewritten)?);
        let enough = original >= MIN_NS && rewritten >= MIN_NS;
        Some(Figures {
            original: median(of(&|turn| turn.in_plain_loop(turn.original)))?,
            rewritten: median(of(&|turn| turn.in_plain_loop(turn.rewritten)))?,
            frame: median(of(&|turn| turn.unwrapped))?,
            restoring: median(of(&|turn| turn.empty - turn.unwrapped))?,
            quartiles: [quantile(ratios.clone(), 0.25)?, quantile(ratios.clone(), 0.75)?],
            ratio: median(ratios)?,
            copy_ratio: median(of(&|turn| turn.by_original(turn.copy)))?,
            without_frame: enough.then(|| rewritten / original),
        })
    }
}

fn median(numbers: Vec<f64>) -> Option<f64> {
    quantile(numbers, 0.5)
}

/// Returns the quantile of `numbers` for the given share (from 0 to 1), interpolated between two
/// neighbouring numbers. Returns `None` if there are no numbers.
fn quantile(mut numbers: Vec<f64>, share: f64) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let last = numbers.len().checked_sub(1)?;
    let place = share * last as f64;
    let (below, above) = (numbers[place.floor() as usize], numbers[place.ceil() as usize]);
    Some(below + (above - below) * place.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_in_the_middle() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![3.0]), Some(3.0));
        assert_eq!(median(vec![9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 9.0]), Some(3.0));
        assert_eq!(quantile(vec![4.0, 1.0, 2.0, 3.0, 0.0], 0.25), Some(1.0));
    }

    #[test]
    fn the_kernels_loop_is_part_of_each_time() {
        let plain =
            Turn { original: 90.0, rewritten: 30.0, copy: 90.0, empty: 20.0, unwrapped: 20.0 };
        let figures = Figures::new(&[plain]).expect("a turn");
        assert_eq!((figures.original, figures.rewritten, figures.frame), (90.0, 30.0, 20.0));
        assert_eq!((figures.restoring, figures.copy_ratio), (0.0, 1.0));
        assert_eq!(figures.ratio, 30.0 / 90.0);
        assert_eq!(figures.without_frame, Some(10.0 / 70.0));
    }

    #[test]
    fn the_time_of_restoring_is_not_part_of_it() {
        let plain =
            Turn { original: 90.0, rewritten: 30.0, copy: 90.0, empty: 20.0, unwrapped: 20.0 };
        let more = |time: f64| time + 33.0;
        let Turn { original, rewritten, copy, empty, unwrapped } = plain;
        let restored = Turn {
            original: more(original),
            rewritten: more(rewritten),
            copy: more(copy),
            empty: more(empty),
            unwrapped,
        };
        let figures = Figures::new(&[restored]).expect("a turn");
        let without = Figures::new(&[plain]).expect("a turn");
        assert_eq!(figures, Figures { restoring: 33.0, ..without });
    }

    #[test]
    fn one_disturbed_turn_does_not_count() {
        let calm =
            Turn { original: 90.0, rewritten: 30.0, copy: 90.0, empty: 20.0, unwrapped: 20.0 };
        let late = Turn { empty: 200.0, ..calm };
        let figures = Figures::new(&[calm, late, calm]).expect("turns");
        assert_eq!(Figures { quartiles: [0.0; 2], ..figures }, {
            let unwrapped = Figures::new(&[calm]).expect("a turn");
            Figures { quartiles: [0.0; 2], ..unwrapped }
        });
        let [low, high] = figures.quartiles;
        assert!(low <= figures.ratio && figures.ratio < high, "{figures:?}");
        assert_eq!(Figures::new(&[]), None);
    }

    #[test]
    fn very_short_programs_have_no_ratio() {
        let short =
            Turn { original: 90.0, rewritten: 24.0, copy: 90.0, empty: 20.0, unwrapped: 20.0 };
        let figures = Figures::new(&[short]).expect("a turn");
        assert_eq!(figures.without_frame, None);
        assert_eq!(figures.ratio, 24.0 / 90.0);
    }
}

//! What times of runs in turns say.
//!
//! A packet that a program changes is put back between runs, by a program in front that reads the
//! clock (`slowpath_kernel::timing::Wrapper`): of that reading and of the call, part is in the time of
//! each run. An empty program in the same place shows how much. In its stead, each run is given what
//! an empty program takes when the kernel repeats it with nothing in front (`BPF_PROG_TEST_RUN` with
//! `repeat`): the kernel's own loop and call, without which no program runs.

/// Nanoseconds of a program without the frame that are enough to divide by: where code lies in memory
/// makes a difference of half a nanosecond.
const LEAST: f64 = 5.0;

/// Nanoseconds of a run, each the mean of one timed call, the shortest of a few in turns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Turn {
    /// The original program.
    pub original: f64,
    /// The rewritten one.
    pub rewritten: f64,
    /// A copy of the original.
    pub copy: f64,
    /// An empty program in the same place.
    pub empty: f64,
    /// An empty program that nothing is in front of; the same where nothing is in front of the others.
    pub alone: f64,
}

/// What many turns say: medians, in nanoseconds as if nothing were in front of the programs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    pub original: f64,
    pub rewritten: f64,
    pub frame: f64,
    /// What was taken away of each time, because it is not there without restoring.
    pub restoring: f64,
    /// Rewritten by original, with the frame.
    pub ratio: f64,
    /// A quarter of all turns is below the first one, a quarter above the second.
    pub quartiles: [f64; 2],
    /// Copy by original, with the frame.
    pub copy_ratio: f64,
    /// Rewritten by original, without the frame; `None` if less than [`LEAST`] is left of one.
    pub without_frame: Option<f64>,
}

impl Turn {
    /// The time of a program as if nothing were in front of it.
    fn in_plain_loop(&self, time: f64) -> f64 {
        self.alone + (time - self.empty).max(0.0)
    }

    /// The same time by that of the original.
    fn by_original(&self, time: f64) -> f64 {
        self.in_plain_loop(time) / self.in_plain_loop(self.original).max(f64::MIN_POSITIVE)
    }
}

impl Figures {
    /// What these turns say; `None` if there are none.
    pub fn of(turns: &[Turn]) -> Option<Figures> {
        let of = |what: &dyn Fn(&Turn) -> f64| turns.iter().map(what).collect::<Vec<f64>>();
        let ratios = of(&|turn| turn.by_original(turn.rewritten));
        let own = |time: &dyn Fn(&Turn) -> f64| median(of(&|turn| time(turn) - turn.empty));
        let (original, rewritten) = (own(&|turn| turn.original)?, own(&|turn| turn.rewritten)?);
        let enough = original >= LEAST && rewritten >= LEAST;
        Some(Figures {
            original: median(of(&|turn| turn.in_plain_loop(turn.original)))?,
            rewritten: median(of(&|turn| turn.in_plain_loop(turn.rewritten)))?,
            frame: median(of(&|turn| turn.alone))?,
            restoring: median(of(&|turn| turn.empty - turn.alone))?,
            quartiles: [quantile(ratios.clone(), 0.25)?, quantile(ratios.clone(), 0.75)?],
            ratio: median(ratios)?,
            copy_ratio: median(of(&|turn| turn.by_original(turn.copy)))?,
            without_frame: enough.then(|| rewritten / original),
        })
    }
}

/// The middle one of some numbers, or the mean of the two in the middle.
fn median(numbers: Vec<f64>) -> Option<f64> {
    quantile(numbers, 0.5)
}

/// The number below which this share of some numbers is, interpolated between two of them.
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
        let plain = Turn { original: 90.0, rewritten: 30.0, copy: 90.0, empty: 20.0, alone: 20.0 };
        let figures = Figures::of(&[plain]).expect("a turn");
        assert_eq!((figures.original, figures.rewritten, figures.frame), (90.0, 30.0, 20.0));
        assert_eq!((figures.restoring, figures.copy_ratio), (0.0, 1.0));
        assert_eq!(figures.ratio, 30.0 / 90.0);
        assert_eq!(figures.without_frame, Some(10.0 / 70.0));
    }

    #[test]
    fn what_restoring_takes_is_not() {
        let plain = Turn { original: 90.0, rewritten: 30.0, copy: 90.0, empty: 20.0, alone: 20.0 };
        let more = |time: f64| time + 33.0;
        let Turn { original, rewritten, copy, empty, alone } = plain;
        let restored = Turn {
            original: more(original),
            rewritten: more(rewritten),
            copy: more(copy),
            empty: more(empty),
            alone,
        };
        let figures = Figures::of(&[restored]).expect("a turn");
        let without = Figures::of(&[plain]).expect("a turn");
        assert_eq!(figures, Figures { restoring: 33.0, ..without });
    }

    #[test]
    fn one_disturbed_turn_does_not_count() {
        let calm = Turn { original: 90.0, rewritten: 30.0, copy: 90.0, empty: 20.0, alone: 20.0 };
        let late = Turn { empty: 200.0, ..calm };
        let figures = Figures::of(&[calm, late, calm]).expect("turns");
        assert_eq!(Figures { quartiles: [0.0; 2], ..figures }, {
            let alone = Figures::of(&[calm]).expect("a turn");
            Figures { quartiles: [0.0; 2], ..alone }
        });
        let [low, high] = figures.quartiles;
        assert!(low <= figures.ratio && figures.ratio < high, "{figures:?}");
        assert_eq!(Figures::of(&[]), None);
    }

    #[test]
    fn next_to_nothing_divides_nothing() {
        let short = Turn { original: 90.0, rewritten: 24.0, copy: 90.0, empty: 20.0, alone: 20.0 };
        let figures = Figures::of(&[short]).expect("a turn");
        assert_eq!(figures.without_frame, None);
        assert_eq!(figures.ratio, 24.0 / 90.0);
    }
}

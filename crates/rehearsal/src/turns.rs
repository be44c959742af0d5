//! Evaluates the times of programs that were measured in turn.
//!
//! If a program changes its packet, a wrapper in front of it restores the packet between runs and
//! reads the clock (`slowpath_kernel::timing::Wrapper`). The time of each run includes part of this
//! work. Therefore the time of an empty program with such a wrapper is subtracted from it, and the
//! time of an empty program without a wrapper is added: the time of the kernel's own loop
//! (`BPF_PROG_TEST_RUN` with `repeat`), which every test run includes.

/// Minimum time in nanoseconds that each program must take without the kernel's loop, so that their
/// ratio is computed. A shorter time is too uncertain: the address of the code alone changes a time
/// by half a nanosecond.
const MIN_NS: f64 = 5.0;

/// Times of all programs in one round, in nanoseconds for each run. Each time is the mean over the
/// runs of a timed call, and the shortest of a few calls counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Turn {
    /// Time of the original program.
    pub original: f64,
    /// Time of the rewritten program.
    pub rewritten: f64,
    /// Time of a second copy of the original.
    pub copy: f64,
    /// Time of an empty program, with a wrapper if the other programs have one.
    pub empty: f64,
    /// Time of an empty program without a wrapper. Equal to `empty` if no program has a wrapper.
    pub unwrapped: f64,
}

/// Medians over many rounds, in nanoseconds. The times are converted to those of programs without a
/// wrapper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    pub original: f64,
    pub rewritten: f64,
    pub frame: f64,
    /// Time in nanoseconds that was subtracted from each time because restoring the packet took it.
    pub restoring: f64,
    /// Time of the rewritten program divided by that of the original, both including the kernel's
    /// loop.
    pub ratio: f64,
    /// First and third quartile of the ratio over all rounds.
    pub quartiles: [f64; 2],
    /// Time of the second copy divided by that of the original, both including the kernel's loop.
    pub copy_ratio: f64,
    /// Time of the rewritten program divided by that of the original, without the kernel's loop.
    /// `None` if a program takes less than [`MIN_NS`].
    pub without_frame: Option<f64>,
}

impl Turn {
    /// Converts the time of a program with a wrapper to the time that it takes without one.
    fn in_plain_loop(&self, time: f64) -> f64 {
        self.unwrapped + (time - self.empty).max(0.0)
    }

    /// Converts the time of a program, and divides it by the converted time of the original.
    fn by_original(&self, time: f64) -> f64 {
        self.in_plain_loop(time) / self.in_plain_loop(self.original).max(f64::MIN_POSITIVE)
    }
}

impl Figures {
    /// Computes the medians. Returns `None` if there are no rounds.
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

/// Returns the median, or `None` if there are no numbers.
fn median(numbers: Vec<f64>) -> Option<f64> {
    quantile(numbers, 0.5)
}

/// Returns the quantile at `share`, interpolated between two numbers. Returns `None` if there are
/// no numbers.
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

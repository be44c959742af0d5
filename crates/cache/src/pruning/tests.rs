use super::*;
use proptest::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

/// A temporary folder. It is deleted when the value is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("slowpath-pruning-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).expect("a folder");
        Folder(folder)
    }

    /// Creates a file of `bytes` bytes that was last used at the time `unused` before `now`.
    fn file(&self, name: &str, bytes: usize, unused: Duration, now: SystemTime) -> PathBuf {
        let file = self.0.join(name);
        fs::create_dir_all(file.parent().expect("it has one")).expect("a folder");
        fs::write(&file, vec![0; bytes]).expect("a file");
        let open = File::options().write(true).open(&file).expect("it is there");
        open.set_times(FileTimes::new().set_modified(now - unused)).expect("it is ours");
        file
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Returns a file name of the form that cached results have.
fn result(number: u32) -> String {
    format!("{:02x}/{number:062x}", number % 3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_is_left_is_within_the_limits_and_used_last(
        files in prop::collection::vec((0..200_usize, 0..200_u64), 0..12),
        bytes in 0..800_u64,
        days in 0..200_u64,
    ) {
        let (folder, now) = (Folder::new(), SystemTime::now());
        let limits = Limits { bytes, age: DAY * days as u32 };
        let made: Vec<(PathBuf, u64, u64)> = (0..).zip(&files).map(|(number, &(size, unused))| {
            let file = folder.file(&result(number), size, DAY * unused as u32, now);
            (file, size as u64, unused)
        }).collect();
        prune(&folder.0, limits, now);
        let (left, gone): (Vec<_>, Vec<_>) = made.iter().partition(|(file, ..)| file.exists());
        prop_assert!(left.iter().map(|(_, size, _)| size).sum::<u64>() <= bytes);
        prop_assert!(left.iter().all(|(_, _, unused)| *unused <= days));
        let young: Vec<_> = gone.iter().filter(|(_, _, unused)| *unused <= days).collect();
        for (_, size, unused) in &young {
            // Files that are left were used later than this one; together with this file, they
            // exceed the limit.
            prop_assert!(left.iter().all(|(_, _, other)| other <= unused));
            let since = made.iter().filter(|(_, _, other)| other <= unused);
            prop_assert!(since.map(|(_, size, _)| size).sum::<u64>() > bytes, "{size}");
        }
    }
}

#[test]
fn only_results_are_touched() {
    let (folder, now) = (Folder::new(), SystemTime::now());
    let old = DAY * 1000;
    let names = ["note", "aa/note", "zz/0", "0/0", "aa/.1.2.old", "aa/.1.2.new.x"];
    let others: Vec<PathBuf> = names.iter().map(|name| folder.file(name, 1000, old, now)).collect();
    let unfinished = folder.file("aa/.1.2.new", 1000, old, now);
    let just_begun = folder.file("aa/.1.3.new", 1000, Duration::ZERO, now);
    let result = folder.file(&result(7), 1000, old, now);
    prune(&folder.0, Limits { bytes: 0, age: Duration::ZERO }, now);
    assert!(others.iter().all(|file| file.exists()));
    assert!(just_begun.exists() && !unfinished.exists() && !result.exists());
    prune(&folder.0.join("not there"), LIMITS, now);
    prune(&others[0], LIMITS, now);
}

#[test]
fn what_is_read_counts_as_used() {
    let (folder, now) = (Folder::new(), SystemTime::now());
    let [read, other] =
        [0, 1].map(|number| folder.file(&result(number), 10, DAY * (9 - number), now));
    used(&File::open(&read).expect("it is there"), now);
    prune(&folder.0, Limits { bytes: 15, age: DAY * 90 }, now);
    assert!(read.exists() && !other.exists());
}

#[test]
fn several_can_prune_at_once() {
    let (folder, now) = (Folder::new(), SystemTime::now());
    for number in 0..200 {
        folder.file(&result(number), 10, DAY * number, now);
    }
    let limits = Limits { bytes: 100, age: DAY * 1000 };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| prune(&folder.0, limits, now));
        }
    });
    let left = (0..200).filter(|&number| folder.0.join(result(number)).exists());
    // A thread may count files that another thread is deleting. So fewer files may be left, but
    // never more.
    assert!(left.clone().count() <= 10 && left.max() < Some(10));
}

#[test]
fn results_are_counted_and_cleared() {
    let (folder, now) = (Folder::new(), SystemTime::now());
    for number in 0..5 {
        folder.file(&result(number), 10, Duration::ZERO, now);
    }
    let other = folder.file("00/note", 7, Duration::ZERO, now);
    folder.file("01/.1.2.new", 7, Duration::ZERO, now);
    let all = Usage { results: 5, bytes: 50 };
    assert_eq!(usage(&folder.0), all);
    assert_eq!(clear(&folder.0).expect("they are ours"), all);
    assert_eq!(usage(&folder.0), Usage::default());
    let left: Vec<PathBuf> = entries(&folder.0).collect();
    assert_eq!(left, [other.parent().expect("it has one")]);
    assert_eq!(clear(&folder.0.join("not there")).expect("nothing to do"), Usage::default());
}

#[test]
fn a_folder_is_pruned_at_intervals_or_after_large_results() {
    let (folder, now) = (Folder::new(), SystemTime::now());
    let limits = Limits { bytes: 160, age: DAY };
    let old = || folder.file(&result(1), 10, DAY * 2, now);
    for (marked, written, pruned) in
        [(None, 1, true), (Some(0), 1, false), (Some(299), 9, false), (Some(300), 1, true)]
            .into_iter()
            .chain([(Some(0), 10, true)])
    {
        let file = old();
        remove(&folder.0.join(MARKER));
        if let Some(seconds) = marked {
            folder.file(MARKER, 0, Duration::from_secs(seconds), now);
        }
        prune_if_due(&folder.0, limits, written, now);
        assert_eq!(file.exists(), !pruned, "{marked:?} {written}");
        assert!(folder.0.join(MARKER).exists());
    }
}

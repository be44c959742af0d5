//! Catches panics of worker threads. A hook keeps their messages off standard error and stores
//! their location, which is known even without debug information. The analysis reports the panics
//! as errors in the result.

use std::any::Any;
use std::cell::RefCell;
use std::sync::Once;
use std::thread;

/// Name of the worker threads.
pub(crate) const WORKER: &str = "slowpath";

thread_local! {
    /// Source location of the last panic on this thread: file, line and column.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Installs a hook that keeps panics of worker threads off standard error.
pub(crate) fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if thread::current().name() == Some(WORKER) {
                PLACE.set(info.location().map(ToString::to_string));
            } else {
                before(info);
            }
        }));
    });
}

/// Describes, in one line, a panic that was caught on this thread: its message and its location.
pub(crate) fn describe(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let line = text.and_then(|text| text.lines().next()).unwrap_or("no description");
    match PLACE.take() {
        Some(place) => format!("{line} ({place})"),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    #[test]
    fn a_panic_is_described_with_its_place() {
        silence();
        let worker = thread::Builder::new().name(WORKER.into());
        let caught = worker.spawn(|| {
            let panic = catch_unwind(|| panic!("no {}\nand more", "way")).err();
            panic.map(|panic| describe(&*panic))
        });
        let text = caught.ok().and_then(|thread| thread.join().ok()).flatten().unwrap_or_default();
        assert!(text.starts_with("no way (crates/slowpath/src/panics.rs:"), "{text}");
    }
}

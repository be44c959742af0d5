//! Runs independent pieces of work on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// Stack size of a thread in bytes. The analysis follows long chains of merged states recursively.
const STACK_BYTES: usize = 512 << 20;

/// Calls `work` for each item and returns the results in the order of the items. The work is done
/// by `threads` threads, and the calling thread is one of them. If no other thread can be started,
/// it does all the work.
pub(super) fn map<T: Sync, R: Send>(
    items: &[T],
    threads: usize,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    let turn = || {
        while let Some((place, item)) = {
            let place = next.fetch_add(1, Ordering::Relaxed);
            items.get(place).map(|item| (place, item))
        } {
            let result = work(item);
            done.lock().unwrap_or_else(PoisonError::into_inner).push((place, result));
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads.min(items.len()) {
            let builder = thread::Builder::new().stack_size(STACK_BYTES);
            if builder.spawn_scoped(scope, turn).is_err() {
                break;
            }
        }
        turn();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..1000).collect();
        for threads in [0, 1, 2, 7] {
            let doubled: Vec<u32> = items.iter().map(|item| 2 * item).collect();
            assert_eq!(map(&items, threads, |item| 2 * item), doubled);
        }
    }
}

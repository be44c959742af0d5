//! Computes each result only once, although several threads of a plan need it. The first thread
//! that needs a result computes it; all other threads wait for it.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Results that were computed or are being computed, by their keys.
pub(super) struct Memo<K, V> {
    known: Mutex<HashMap<K, Arc<OnceLock<V>>>>,
}

impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Memo { known: Mutex::default() }
    }
}

impl<K: Eq + Hash, V: Clone> Memo<K, V> {
    /// Returns the result for a key. The first caller computes it, and other threads that need the
    /// same result wait.
    pub fn get(&self, key: K, compute: impl FnOnce() -> V) -> V {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let place = Arc::clone(known.entry(key).or_default());
        drop(known);
        place.get_or_init(compute).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    #[test]
    fn several_threads_compute_a_result_once() {
        let (memo, computed) = (Memo::default(), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for key in 0..100 {
                        let result = memo.get(key, || {
                            computed.fetch_add(1, Ordering::Relaxed);
                            2 * key
                        });
                        assert_eq!(result, 2 * key);
                    }
                });
            }
        });
        assert_eq!(computed.into_inner(), 100);
    }
}

//! A map from terms to values, stored as an array of pages. Access takes constant time, and only
//! pages with a value take memory. Terms that were created together often occur together, so they
//! share a page.

use crate::term::TermId;

/// Base-2 logarithm of the number of terms in a page.
const PAGE_BITS: u32 = 8;
const PAGE: usize = 1 << PAGE_BITS;

/// Values of terms with consecutive ids.
#[derive(Debug)]
struct Page<T> {
    /// One bit for each term that has a value.
    known: [u64; PAGE / 64],
    values: [T; PAGE],
}

/// A map from terms of a pool to small values.
#[derive(Debug)]
pub(crate) struct TermMap<T> {
    pages: Vec<Option<Box<Page<T>>>>,
}

impl<T: Copy + Default> TermMap<T> {
    /// Creates an empty map for terms of a pool with this number of terms.
    pub fn new(terms: usize) -> Self {
        TermMap { pages: std::iter::repeat_with(|| None).take(terms.div_ceil(PAGE)).collect() }
    }

    /// Returns the value of a term, or `None` if it has none.
    #[inline]
    pub fn get(&self, term: TermId) -> Option<T> {
        let (page, place) = split(term);
        let page = self.pages.get(page)?.as_ref()?;
        (page.known[place / 64] >> (place % 64) & 1 == 1).then(|| page.values[place])
    }

    /// Sets the value of a term, which must be in the pool.
    #[inline]
    pub fn insert(&mut self, term: TermId, value: T) {
        let (page, place) = split(term);
        let page = self.pages[page].get_or_insert_with(|| {
            Box::new(Page { known: [0; PAGE / 64], values: [T::default(); PAGE] })
        });
        page.known[place / 64] |= 1 << (place % 64);
        page.values[place] = value;
    }
}

/// Returns the index of the page that contains a term, and the index of the term within this page.
#[inline]
fn split(term: TermId) -> (usize, usize) {
    (term.index() >> PAGE_BITS, term.index() % PAGE)
}

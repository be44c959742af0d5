//! Arrays of bytes: unconstrained arrays, and tables with known content.

use crate::domain::Domain;
use crate::pool::{Array, TermPool};
use crate::term::{ArrayId, Node, TermId};

/// Maximum number of bytes of a table that are examined to find the possible values of a read. If
/// more indices are possible, every byte value counts as possible.
const MAX_JOINED: u64 = 4096;

impl TermPool {
    /// Creates an unconstrained array, which can have any content. It differs from all earlier
    /// arrays, even from arrays with the same name.
    pub fn array(&mut self, name: &str, index_width: u8) -> ArrayId {
        self.add_array(Array { name: name.to_owned(), index_width, content: None })
    }

    /// Creates an array with the bytes `bytes` from index zero on, and zeros after them.
    pub fn constant_array(&mut self, name: &str, index_width: u8, bytes: &[u8]) -> ArrayId {
        let content = Some(bytes.to_owned());
        self.add_array(Array { name: name.to_owned(), index_width, content })
    }

    fn add_array(&mut self, array: Array) -> ArrayId {
        let id = ArrayId(self.arrays.len() as u32);
        self.arrays.push(array);
        id
    }

    /// Returns the name of an array, and the width of its indices in bits.
    pub fn array_info(&self, array: ArrayId) -> (&str, u8) {
        let array = &self.arrays[array.index()];
        (&array.name, array.index_width)
    }

    /// Returns the bytes of an array with known content, from index zero on. All bytes after them
    /// are zero. Returns `None` for an unconstrained array.
    pub fn array_content(&self, array: ArrayId) -> Option<&[u8]> {
        self.arrays[array.index()].content.as_deref()
    }

    /// Returns the byte of a table at an index. `content` contains the bytes from index zero on;
    /// all later bytes are zero.
    pub(crate) fn table_byte(content: &[u8], index: u64) -> u8 {
        usize::try_from(index).ok().and_then(|index| content.get(index)).copied().unwrap_or(0)
    }

    /// Returns a term for the byte of `array` at `index`, which must be as wide as the array's
    /// indices. The term is a constant if the array has known content with the same byte at every
    /// possible index.
    pub fn select(&mut self, array: ArrayId, index: TermId) -> TermId {
        debug_assert_eq!(self.width(index), self.arrays[array.index()].index_width);
        let domain = self.select_domain(array, self.domain(index));
        self.store(Node::Select { array, index }, domain)
    }

    /// Returns a set that contains the bytes of an array at all indices that a domain contains.
    pub(crate) fn select_domain(&self, array: ArrayId, index: Domain) -> Domain {
        let Some(content) = self.array_content(array) else { return Domain::full(8) };
        if let Some(index) = index.as_constant() {
            return Domain::constant(8, u64::from(Self::table_byte(content, index)));
        }
        let length = content.len() as u64;
        let (first, end) = (index.lo().min(length), index.hi().saturating_add(1).min(length));
        if end - first > MAX_JOINED {
            return Domain::full(8);
        }
        let beyond = index.hi() >= length;
        let (mut any, mut all) = (0u8, u8::MAX);
        let (mut least, mut greatest) = (u8::MAX, 0u8);
        let mut see = |byte: u8| {
            (any, all) = (any | byte, all & byte);
            (least, greatest) = (least.min(byte), greatest.max(byte));
        };
        for (at, &byte) in (first..end).zip(&content[first as usize..end as usize]) {
            if index.contains(at) {
                see(byte);
            }
        }
        if beyond {
            see(0);
        }
        let (zeros, ones) = (u64::from(!any), u64::from(all));
        Domain::reduced(8, zeros, ones, least.into(), greatest.into()).unwrap_or(Domain::full(8))
    }
}

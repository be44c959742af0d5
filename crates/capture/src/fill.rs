//! A reader that gives as much as is asked for, until there is no more: pipes give less.

use std::io::{self, ErrorKind, Read};

/// Reads until a buffer is full, or the end.
pub struct Fill<R>(pub R);

impl<R: Read> Read for Fill<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(space) = buffer.get_mut(filled..).filter(|space| !space.is_empty()) {
            match self.0.read(space) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // What came before is given first.
                Err(_) if filled > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

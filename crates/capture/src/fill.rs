//! A reader that fills the whole buffer on each call, except at the end of the input. Pipes, for
//! example, return less.

use std::io::{self, ErrorKind, Read};

/// A reader whose calls return only with a full buffer or at the end of the input.
pub struct FullReader<R>(pub R);

impl<R: Read> Read for FullReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(space) = buffer.get_mut(filled..).filter(|space| !space.is_empty()) {
            match self.0.read(space) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Return the bytes read before the error first.
                Err(_) if filled > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

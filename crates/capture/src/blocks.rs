//! Reads a capture file (pcap or pcapng) block by block. The read buffer grows if a block does not
//! fit into it.

use std::io::{self, ErrorKind, Read};

use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{LegacyPcapReader, PcapBlockOwned, PcapError, PcapNGReader};

use crate::error::Problem;

/// Initial size of the read buffer in bytes.
const INITIAL_BUFFER: usize = 1 << 16;
/// Maximum size in bytes of a block that is read; a larger one is reported as damage.
const MAX_BLOCK: usize = 1 << 24;
/// Magic numbers of gzip and zstd files.
const COMPRESSED: [&[u8]; 2] = [&[0x1f, 0x8b], &[0x28, 0xb5, 0x2f, 0xfd]];
/// Magic number of pcapng files: the type of a section header block.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Input of the pcap and pcapng parsers. It starts with the bytes that were already read to
/// recognise the format; the rest of the file follows.
pub type Source = FullReader<io::Chain<io::Cursor<Vec<u8>>, Box<dyn Read + Send>>>;

pub struct Blocks {
    reader: Box<dyn PcapReaderIterator + Send>,
    /// Offset of the next block from the start of the file, in bytes.
    offset: u64,
}

impl Blocks {
    /// Opens a capture file and recognises its format by the magic number at the start. The
    /// returned flag is true for pcapng and false for pcap.
    pub fn new(input: Box<dyn Read + Send>) -> Result<(Blocks, bool), Problem> {
        let mut input = FullReader(input);
        let mut start = vec![0; 4];
        let count = input.read(&mut start)?;
        if count == 0 {
            return Err(Problem::Empty);
        }
        start.truncate(count);
        let is_pcapng = start == SECTION;
        let magic = start.clone();
        let source: Source = FullReader(io::Cursor::new(start).chain(input.0));
        let reader: Result<Box<dyn PcapReaderIterator + Send>, _> = if is_pcapng {
            PcapNGReader::new(INITIAL_BUFFER, source).map(|reader| Box::new(reader) as _)
        } else {
            LegacyPcapReader::new(INITIAL_BUFFER, source).map(|reader| Box::new(reader) as _)
        };
        let reader = reader.map_err(|error| match error {
            PcapError::Incomplete(_) | PcapError::UnexpectedEof | PcapError::Eof => Problem::CutOff,
            PcapError::HeaderNotRecognized => other_file(&magic),
            PcapError::ReadError => unread(),
            _ => Problem::Damaged,
        })?;
        Ok((Blocks { reader, offset: 0 }, is_pcapng))
    }

    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Calls `read` with the next block of the file and returns the result of `read`. Returns
    /// `None` at the end of the file.
    pub fn next<T>(
        &mut self,
        read: impl FnOnce(PcapBlockOwned<'_>) -> Result<T, Problem>,
    ) -> Result<Option<T>, Problem> {
        let mut capacity = INITIAL_BUFFER;
        loop {
            let buffered = self.reader.data().len();
            let is_buffer_full = match self.reader.next() {
                Ok(_) => break,
                Err(PcapError::Eof) => return Ok(None),
                Err(PcapError::Incomplete(_)) => false,
                Err(PcapError::BufferTooSmall) => true,
                Err(PcapError::UnexpectedEof) => return Err(Problem::CutOff),
                Err(PcapError::ReadError) => return Err(unread()),
                Err(_) => return Err(Problem::Damaged),
            };
            if !is_buffer_full {
                self.refill()?;
            }
            if self.reader.data().len() > buffered || self.reader.reader_exhausted() {
                continue;
            }
            capacity = capacity.saturating_mul(2);
            if capacity > MAX_BLOCK {
                return Err(Problem::TooLarge { most: MAX_BLOCK });
            }
            self.reader.grow(capacity);
            self.refill()?;
        }
        let Ok((length, block)) = self.reader.next() else { return Err(Problem::Damaged) };
        let result = read(block);
        if result.is_ok() {
            self.reader.consume(length);
            self.offset = self.offset.saturating_add(length as u64);
        }
        result.map(Some)
    }

    fn refill(&mut self) -> Result<(), Problem> {
        self.reader.refill().map_err(|_| unread())
    }
}

/// Returns the error for a failed read of the file. It has no cause, because the parser does not
/// report one.
fn unread() -> Problem {
    Problem::Io(io::Error::other("reading fails"))
}

fn other_file(start: &[u8]) -> Problem {
    let compressed = COMPRESSED.iter().any(|magic| start.starts_with(magic));
    let hint = if compressed { "; decompress it first" } else { "" };
    let digits: Vec<String> = start.iter().map(|byte| format!("{byte:02x}")).collect();
    Problem::OtherFile { start: digits.join(" "), hint }
}

/// A reader that fills the whole buffer on each call, except at the end of the input. The wrapped
/// reader, such as a pipe, may return fewer bytes per call.
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

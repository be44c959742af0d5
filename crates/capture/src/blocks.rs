//! Reading of a file block by block, with a buffer that grows for large blocks.

use std::io::{self, Read};

use pcap_parser::traits::PcapReaderIterator;
use pcap_parser::{LegacyPcapReader, PcapBlockOwned, PcapError, PcapNGReader};

use crate::error::Problem;
use crate::fill::FullReader;

/// Initial size of the buffer in bytes.
const USUAL: usize = 1 << 16;
/// Maximum size of a block in bytes.
const MOST: usize = 1 << 24;
/// Magic numbers of gzip and zstd files.
const COMPRESSED: [&[u8]; 2] = [&[0x1f, 0x8b], &[0x28, 0xb5, 0x2f, 0xfd]];
/// Magic number of pcapng files: the type of a section header block.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// Input of the parsers: the bytes read to recognise the format, then the rest of the file.
pub type Source = FullReader<io::Chain<io::Cursor<Vec<u8>>, Box<dyn Read + Send>>>;

/// A reader of the blocks of a file.
pub struct Blocks {
    reader: Box<dyn PcapReaderIterator + Send>,
    /// Offset of the next block in the file, in bytes.
    offset: u64,
}

impl Blocks {
    /// Recognises the format by the file's magic number. The returned flag is true for pcapng.
    pub fn new(input: Box<dyn Read + Send>) -> Result<(Blocks, bool), Problem> {
        let mut input = FullReader(input);
        let mut start = vec![0; 4];
        let count = input.read(&mut start)?;
        if count == 0 {
            return Err(Problem::Empty);
        }
        start.truncate(count);
        let next = start == SECTION;
        let shown = start.clone();
        let source: Source = FullReader(io::Cursor::new(start).chain(input.0));
        let reader: Result<Box<dyn PcapReaderIterator + Send>, _> = if next {
            PcapNGReader::new(USUAL, source).map(|reader| Box::new(reader) as _)
        } else {
            LegacyPcapReader::new(USUAL, source).map(|reader| Box::new(reader) as _)
        };
        let reader = reader.map_err(|error| match error {
            PcapError::Incomplete(_) | PcapError::UnexpectedEof | PcapError::Eof => Problem::CutOff,
            PcapError::HeaderNotRecognized => other_file(&shown),
            PcapError::ReadError => unread(),
            _ => Problem::Damaged,
        })?;
        Ok((Blocks { reader, offset: 0 }, next))
    }

    /// Returns the offset of the next block in the file, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Passes the next block to `read` and returns the result; `None` at the end of the file.
    pub fn next<T>(
        &mut self,
        read: impl FnOnce(PcapBlockOwned<'_>) -> Result<T, Problem>,
    ) -> Result<Option<T>, Problem> {
        let mut capacity = USUAL;
        loop {
            let there = self.reader.data().len();
            let wanted = match self.reader.next() {
                Ok(_) => break,
                Err(PcapError::Eof) => return Ok(None),
                Err(PcapError::Incomplete(_)) => false,
                Err(PcapError::BufferTooSmall) => true,
                Err(PcapError::UnexpectedEof) => return Err(Problem::CutOff),
                Err(PcapError::ReadError) => return Err(unread()),
                Err(_) => return Err(Problem::Damaged),
            };
            if !wanted {
                self.refill()?;
            }
            if self.reader.data().len() > there || self.reader.reader_exhausted() {
                continue;
            }
            capacity = capacity.saturating_mul(2);
            if capacity > MOST {
                return Err(Problem::TooLarge { most: MOST });
            }
            self.reader.grow(capacity);
            self.refill()?;
        }
        let Ok((length, block)) = self.reader.next() else { return Err(Problem::Damaged) };
        let said = read(block);
        if said.is_ok() {
            self.reader.consume(length);
            self.offset = self.offset.saturating_add(length as u64);
        }
        said.map(Some)
    }

    fn refill(&mut self) -> Result<(), Problem> {
        self.reader.refill().map_err(|_| unread())
    }
}

/// Returns an error without the cause, because the parser does not report it.
fn unread() -> Problem {
    Problem::Io(io::Error::other("reading fails"))
}

fn other_file(start: &[u8]) -> Problem {
    let compressed = COMPRESSED.iter().any(|magic| start.starts_with(magic));
    let hint = if compressed { "; decompress it first" } else { "" };
    let digits: Vec<String> = start.iter().map(|byte| format!("{byte:02x}")).collect();
    Problem::OtherFile { start: digits.join(" "), hint }
}

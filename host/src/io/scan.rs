//! Reading text byte by byte from any `Read`, fast enough for hundreds of megabytes.
//!
//! Lines are counted as they go by, tokens are what lies between blanks. `BufRead::lines` would
//! copy every line and check it for UTF-8 before a number is parsed; here a number of up to three digits,
//! which is nearly all there is in a grid of classes, is read in place ([`Scanner::short_number`]).

use std::io::Read;

use super::error::{FormatError, Place, Problem};

/// Longest token kept; what is longer is no number.
const TOKEN: usize = 512;

/// A byte stream with one byte of look-ahead and a line counter.
pub(crate) struct Scanner<'n, R> {
    reader: R,
    name: &'n str,
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    line: u64,
    token: Vec<u8>,
}

/// Blank inside a line.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

impl<'n, R: Read> Scanner<'n, R> {
    pub(crate) fn new(reader: R, name: &'n str) -> Self {
        Self { reader, name, buffer: vec![0; 1 << 18], at: 0, end: 0, line: 1, token: Vec::new() }
    }

    /// The name of the file, for messages.
    pub(crate) fn name(&self) -> &'n str {
        self.name
    }

    /// The line of the byte that comes next.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// The next byte, left where it is; `None` at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> Result<Option<u8>, FormatError> {
        if self.at < self.end { Ok(Some(self.buffer[self.at])) } else { self.refill() }
    }

    #[cold]
    fn refill(&mut self) -> Result<Option<u8>, FormatError> {
        (self.at, self.end) = (0, read_some(&mut self.reader, &mut self.buffer, self.name)?);
        Ok((self.end > 0).then(|| self.buffer[0]))
    }

    /// Takes the byte that [`peek`](Self::peek) showed.
    #[inline]
    pub(crate) fn bump(&mut self) {
        self.line += u64::from(self.buffer[self.at] == b'\n');
        self.at += 1;
    }

    /// Passes a UTF-8 byte order mark, and refuses the marks of UTF-16, which some shells write.
    pub(crate) fn start(&mut self) -> Result<(), FormatError> {
        match self.peek()? {
            Some(0xef) => {
                for expected in [0xef, 0xbb, 0xbf] {
                    if self.peek()? != Some(expected) {
                        return Err(Problem::new("this is not text", "give the format by name if it is another one")
                            .at(self.name, Place::line(1)));
                    }
                    self.bump();
                }
                Ok(())
            }
            Some(0xff | 0xfe) => {
                Err(Problem::new("the text is UTF-16", "save it as plain ASCII or UTF-8").at(self.name, Place::line(1)))
            }
            _ => Ok(()),
        }
    }

    /// Passes blanks inside the line; the byte after them.
    #[inline]
    pub(crate) fn skip_blanks(&mut self) -> Result<Option<u8>, FormatError> {
        loop {
            match self.peek()? {
                Some(byte) if is_blank(byte) => self.bump(),
                other => return Ok(other),
            }
        }
    }

    /// Passes blanks and line ends; the byte after them.
    pub(crate) fn skip_lines(&mut self) -> Result<Option<u8>, FormatError> {
        loop {
            match self.skip_blanks()? {
                Some(b'\n') => self.bump(),
                other => return Ok(other),
            }
        }
    }

    /// A number 0..=255 of at most three digits that a blank or a line end follows, when that is what comes next
    /// and all of it is in the buffer. Otherwise nothing is taken.
    #[inline]
    pub(crate) fn short_number(&mut self) -> Option<u8> {
        let next = &self.buffer[self.at..self.end];
        let mut value = 0u32;
        for (i, &byte) in next.iter().take(4).enumerate() {
            let digit = byte.wrapping_sub(b'0');
            if digit < 10 {
                value = value * 10 + u32::from(digit);
            } else if i > 0 && (byte <= b' ') && (is_blank(byte) || byte == b'\n') {
                let value = u8::try_from(value).ok()?;
                self.at += i;
                return Some(value);
            } else {
                return None;
            }
        }
        None
    }

    /// Takes the bytes up to the next blank or line end, or up to `stop`; only the first 512 are kept.
    pub(crate) fn token(&mut self, stop: Option<u8>) -> Result<&[u8], FormatError> {
        self.token.clear();
        while let Some(byte) = self.peek()? {
            if is_blank(byte) || byte == b'\n' || Some(byte) == stop {
                break;
            }
            if self.token.len() < TOKEN {
                self.token.push(byte);
            }
            self.bump();
        }
        Ok(&self.token)
    }

    /// Takes the bytes up to the next comma, and the comma; a blank or a line end may stand in its place.
    pub(crate) fn field(&mut self) -> Result<&[u8], FormatError> {
        self.token(Some(b','))?;
        if self.skip_blanks()? == Some(b',') {
            self.bump();
        }
        Ok(&self.token)
    }

    /// How many tokens are left on this line; passes them.
    pub(crate) fn count_tokens(&mut self) -> Result<usize, FormatError> {
        let mut count = 0;
        while self.skip_blanks()?.is_some_and(|byte| byte != b'\n') {
            self.token(None)?;
            count += 1;
        }
        Ok(count)
    }

    /// The bytes that were read ahead.
    pub(crate) fn into_ahead(self) -> Vec<u8> {
        self.buffer[self.at..self.end].to_vec()
    }
}

/// One `read`, tried again when a signal interrupts it.
pub(crate) fn read_some(reader: &mut impl Read, bytes: &mut [u8], name: &str) -> Result<usize, FormatError> {
    loop {
        match reader.read(bytes) {
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(read_failed(name, e)),
            // A reader that claims more than it was given room for is a broken one; take no more than the room.
            Ok(n) => return Ok(n.min(bytes.len())),
        }
    }
}

/// Reads until `bytes` is full or the stream ends; how many bytes there were.
pub(crate) fn read_full(reader: &mut impl Read, bytes: &mut [u8], name: &str) -> Result<usize, FormatError> {
    let mut got = 0;
    while got < bytes.len() {
        match read_some(reader, &mut bytes[got..], name)? {
            0 => break,
            n => got += n,
        }
    }
    Ok(got)
}

/// What to say when the operating system fails a read.
pub(crate) fn read_failed(name: &str, error: std::io::Error) -> FormatError {
    let advice = match error.kind() {
        std::io::ErrorKind::IsADirectory => "give a file",
        std::io::ErrorKind::OutOfMemory => "take a smaller grid or a machine with more memory",
        _ => "check the disk or the program that feeds the pipe",
    };
    FormatError::from_io(name, "reading failed", error, advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hands out one byte a call, so that every number straddles a refill.
    pub(crate) struct Trickle<'a>(pub &'a [u8]);
    impl Read for Trickle<'_> {
        fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
            let n = self.0.len().min(out.len()).min(1);
            out[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn a_trickle_gives_the_same_tokens_as_a_gush() {
        let text = b"\xef\xbb\xbf 12  abc\r\n\n 7\t255";
        let tokens = |reader: &mut dyn Read| {
            let mut s = Scanner::new(reader, "x");
            s.start().unwrap();
            let mut all = Vec::new();
            while s.skip_lines().unwrap().is_some() {
                all.push((String::from_utf8(s.token(None).unwrap().to_vec()).unwrap(), s.line()));
            }
            all
        };
        let expected = [("12", 1), ("abc", 1), ("7", 3), ("255", 3)].map(|(t, l)| (t.to_owned(), l));
        assert_eq!(tokens(&mut &text[..]), expected);
        assert_eq!(tokens(&mut Trickle(text)), expected);
    }

    #[test]
    fn short_numbers_are_taken_whole_or_not_at_all() {
        for (text, value) in [
            ("0 ", Some(0)),
            ("255\n", Some(255)),
            ("007\r", Some(7)),
            ("256 ", None),
            ("1234 ", None),
            ("12", None),
            ("-1 ", None),
            ("1.0 ", None),
            (" 1 ", None),
        ] {
            let mut s = Scanner::new(text.as_bytes(), "x");
            s.peek().unwrap();
            assert_eq!(s.short_number(), value, "{text:?}");
            let left = value.map_or(text, |_| text.trim_start_matches(|c: char| c.is_ascii_digit()));
            assert_eq!(s.peek().unwrap(), left.bytes().next(), "{text:?}");
        }
    }

    #[test]
    fn a_failing_reader_is_reported() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
                Err(std::io::Error::other("the cable is out"))
            }
        }
        let e = Scanner::new(Broken, "-").peek().unwrap_err();
        assert_eq!(
            e.to_string(),
            "-: reading failed: the cable is out; check the disk or the program that feeds the pipe"
        );
        assert!(e.io().is_some());
    }
}

//! Where rows of bytes lie in a buffer: what a copy between host and device is told.

/// Rows of `width` bytes in a buffer, `pitch` bytes apart, the first at byte `start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// Byte of the buffer at which the first row begins.
    pub start: usize,
    /// Bytes from the start of a row to that of the next.
    pub pitch: usize,
    /// Bytes of a row.
    pub width: usize,
    /// Rows.
    pub rows: usize,
}

impl Rows {
    /// `bytes` contiguous bytes.
    pub fn contiguous(start: usize, bytes: usize) -> Self {
        Self { start, pitch: bytes, width: bytes, rows: 1 }
    }

    /// Bytes of all rows, which lie in memory.
    pub fn bytes(self) -> usize {
        self.width * self.rows
    }

    /// Panics unless these rows lie inside a buffer of so many bytes.
    pub(crate) fn check_buffer(self, bytes: usize) {
        let behind = bytes.checked_sub(self.start);
        self.check(behind.unwrap_or_else(|| panic!("byte {} of a buffer of {bytes}", self.start)), self.pitch);
    }

    /// Panics unless as many rows of this width, `pitch` bytes apart, lie inside so many bytes of the host's memory.
    pub(crate) fn check_host(self, bytes: usize, pitch: usize) {
        self.check(bytes, pitch);
    }

    fn check(self, len: usize, pitch: usize) {
        let Self { width, rows, .. } = self;
        // What does not fit into a number does not fit into memory.
        let needed = match rows.checked_sub(1) {
            Some(gaps) => gaps.checked_mul(pitch).and_then(|bytes| bytes.checked_add(width)),
            None => Some(0),
        };
        assert!(
            needed.is_some_and(|needed| needed <= len) && (rows <= 1 || width <= pitch),
            "{rows} rows of {width} bytes, {pitch} apart, in {len} bytes"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(rows: Rows, bytes: usize) -> bool {
        std::panic::catch_unwind(|| rows.check_buffer(bytes)).is_ok()
    }

    #[test]
    fn rows_lie_inside_their_buffer() {
        let rows = Rows { start: 4, pitch: 8, width: 6, rows: 3 };
        assert!(fits(rows, 26) && !fits(rows, 25) && !fits(rows, 3));
        assert!(fits(Rows::contiguous(4, 0), 4) && !fits(Rows::contiguous(5, 0), 4));
        assert!(!fits(Rows { pitch: 5, ..rows }, 1000), "rows that overlap");
        // Three rows, half of all memory apart, would end where they begin.
        assert!(!fits(Rows { start: 0, pitch: 1 << 63, width: 1, rows: 3 }, 1000));
        assert!(!fits(Rows { start: 0, pitch: usize::MAX, width: 2, rows: 2 }, 1000));
    }
}

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

    /// Bytes of all rows.
    pub fn bytes(self) -> usize {
        self.width * self.rows
    }

    /// Panics unless these rows lie inside a buffer of so many bytes.
    pub(crate) fn check_buffer(self, bytes: usize) {
        self.check(bytes.saturating_sub(self.start), self.pitch);
    }

    /// Panics unless as many rows of this width, `pitch` bytes apart, lie inside so many bytes of the host's memory.
    pub(crate) fn check_host(self, bytes: usize, pitch: usize) {
        self.check(bytes, pitch);
    }

    fn check(self, len: usize, pitch: usize) {
        let Self { width, rows, .. } = self;
        let needed = rows.checked_sub(1).map_or(0, |gaps| gaps * pitch + width);
        assert!(
            needed <= len && (rows <= 1 || width <= pitch),
            "{rows} rows of {width} bytes, {pitch} apart, in {len} bytes"
        );
    }
}

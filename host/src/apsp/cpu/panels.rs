//! Right factors: packing rows of a matrix into panels, and back.
//!
//! Rows of a panel are contiguous. In a matrix whose row length is a power of two they would fall in the same few
//! sets of the cache, and a product reads them repeatedly.

/// The columns from `left` on, as many as a panel has, of as many rows.
pub(super) fn pack<T: Copy>(rows: &[T], pitch: usize, left: usize, panel: &mut [T], cols: usize) {
    for (to, row) in panel.chunks_exact_mut(cols).zip(rows.chunks_exact(pitch)) {
        to.copy_from_slice(&row[left..][..cols]);
    }
}

/// The inverse: the rows from `top` on, of panels that have `depth` rows.
pub(super) fn unpack<T: Copy>(panels: &[T], depth: usize, cols: usize, top: usize, rows: &mut [T], pitch: usize) {
    for (k, row) in (top..).zip(rows.chunks_exact_mut(pitch)) {
        for (to, panel) in row.chunks_exact_mut(cols).zip(panels.chunks_exact(depth * cols)) {
            to.copy_from_slice(&panel[k * cols..][..cols]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_into_panels_and_come_back() {
        let (depth, cols, pitch) = (4, 8, 24);
        let rows: Vec<i32> = (0..(depth * pitch) as i32).collect();
        let mut panels = vec![0; depth * pitch];
        for (number, panel) in panels.chunks_exact_mut(depth * cols).enumerate() {
            pack(&rows, pitch, number * cols, panel, cols);
        }
        // Row 1 of the panel of columns 16 to 23.
        assert_eq!(panels[2 * depth * cols + cols..][..cols], rows[pitch + 16..][..cols]);
        let mut back = vec![0; 2 * pitch];
        unpack(&panels, depth, cols, 1, &mut back, pitch);
        assert_eq!(back, rows[pitch..3 * pitch]);
    }
}

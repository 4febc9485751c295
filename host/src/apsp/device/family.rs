//! The kernels for one type of distances, and the layout of its matrices on a device.

use std::any::TypeId;

use halotile_kernels::apsp::tiled::{
    PIVOTS, TILE, apsp_panels_f32, apsp_panels_i32, apsp_panels_u16, apsp_pivot_f32, apsp_pivot_i32, apsp_pivot_u16,
    apsp_rest_f32, apsp_rest_i32, apsp_rest_u16, apsp_turn_16, apsp_turn_32,
};
use simt::launch::KernelEntry;

use crate::apsp::Distance;

/// The kernels of a type, and what the host needs to know of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Family {
    pub pivot: &'static KernelEntry,
    pub panels: &'static KernelEntry,
    pub phase3: &'static KernelEntry,
    pub transpose: &'static KernelEntry,
    /// Distances in a word of 32 bits.
    pub lanes: usize,
    /// A byte that, repeated, is a distance so long that no path over it is of use, and whose double is still a number: what
    /// padding is filled with.
    pub padding: u8,
}

impl Family {
    /// The kernels for `T`.
    pub fn of<T: Distance>() -> Self {
        let id = TypeId::of::<T>();
        if id == TypeId::of::<u16>() {
            let (pivot, panels, phase3) = (&apsp_pivot_u16::ENTRY, &apsp_panels_u16::ENTRY, &apsp_rest_u16::ENTRY);
            Self { pivot, panels, phase3, transpose: &apsp_turn_16::ENTRY, lanes: 2, padding: 0x7F }
        } else if id == TypeId::of::<f32>() {
            let (pivot, panels, phase3) = (&apsp_pivot_f32::ENTRY, &apsp_panels_f32::ENTRY, &apsp_rest_f32::ENTRY);
            Self { pivot, panels, phase3, transpose: &apsp_turn_32::ENTRY, lanes: 1, padding: 0x7F }
        } else {
            assert_eq!(id, TypeId::of::<i32>(), "distances are i32, u16 or f32");
            let (pivot, panels, phase3) = (&apsp_pivot_i32::ENTRY, &apsp_panels_i32::ENTRY, &apsp_rest_i32::ENTRY);
            Self { pivot, panels, phase3, transpose: &apsp_turn_32::ENTRY, lanes: 1, padding: 0x3F }
        }
    }

    /// Words from a row of `vertices` distances to the next: whole tiles.
    pub fn pitch(&self, vertices: usize) -> usize {
        vertices.div_ceil(self.lanes).next_multiple_of(TILE as usize)
    }

    /// Tiles of a row.
    pub fn tiles_per_row(&self, vertices: usize) -> u32 {
        (self.pitch(vertices) / TILE as usize) as u32
    }
}

/// Rows of tiles, and rounds.
pub(super) fn tiles(vertices: usize) -> usize {
    vertices.div_ceil(PIVOTS as usize)
}

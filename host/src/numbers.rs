//! The numbers that grids are of: the types that inputs have, and the two precisions of results.

use crate::grid::GridViewMut;

/// The precision of an output: f32 or f64. Sealed: the engines know no other.
///
/// f32 results are within 2e-6 of the definition's value (in nats; usually 2e-7), f64 results within
/// 1e-12.
pub trait Real: Sealed + bytemuck::Pod + Default + PartialEq + Send + Sync {}
impl Real for f32 {}
impl Real for f64 {}

/// What engines need to know of a precision.
pub trait Sealed: Sized {
    /// What a nodata cell gets.
    const NAN: Self;
    /// The nearest value.
    fn from_f64(value: f64) -> Self;
    /// Planes of results as planes of a type that is named, for code that is not the same for both.
    fn planes(planes: Vec<GridViewMut<'_, Self>>) -> Planes<'_>;
}

/// Planes of results of either precision.
#[derive(Debug)]
pub enum Planes<'a> {
    /// Of 32 bits.
    F32(Vec<GridViewMut<'a, f32>>),
    /// Of 64 bits.
    F64(Vec<GridViewMut<'a, f64>>),
}

impl Sealed for f32 {
    const NAN: f32 = f32::NAN;
    fn from_f64(value: f64) -> f32 {
        value as f32
    }
    fn planes(planes: Vec<GridViewMut<'_, f32>>) -> Planes<'_> {
        Planes::F32(planes)
    }
}

impl Sealed for f64 {
    const NAN: f64 = f64::NAN;
    fn from_f64(value: f64) -> f64 {
        value
    }
    fn planes(planes: Vec<GridViewMut<'_, f64>>) -> Planes<'_> {
        Planes::F64(planes)
    }
}

/// The type of the numbers of a raster, or of an array on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ValueType {
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 8 bits.
    I8,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 16 bits.
    I16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    I32,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 64 bits.
    I64,
    /// Floating point, 32 bits.
    F32,
    /// Floating point, 64 bits.
    F64,
}

impl ValueType {
    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }

    /// Its name, as in NumPy with the width in bits: `u8`, `f32`.
    pub fn name(self) -> &'static str {
        match self {
            Self::U8 => "u8",
            Self::I8 => "i8",
            Self::U16 => "u16",
            Self::I16 => "i16",
            Self::U32 => "u32",
            Self::I32 => "i32",
            Self::U64 => "u64",
            Self::I64 => "i64",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }

    /// True for floating point.
    pub fn is_real(self) -> bool {
        matches!(self, Self::F32 | Self::F64)
    }
}

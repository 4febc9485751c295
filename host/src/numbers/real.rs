//! The two precisions an output can have.

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
    #[inline(always)]
    fn from_f64(value: f64) -> f32 {
        value as f32
    }
    fn planes(planes: Vec<GridViewMut<'_, f32>>) -> Planes<'_> {
        Planes::F32(planes)
    }
}

impl Sealed for f64 {
    const NAN: f64 = f64::NAN;
    #[inline(always)]
    fn from_f64(value: f64) -> f64 {
        value
    }
    fn planes(planes: Vec<GridViewMut<'_, f64>>) -> Planes<'_> {
        Planes::F64(planes)
    }
}

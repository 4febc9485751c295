//! The types of distances.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use bytemuck::Pod;

use super::cpu::vector::Lanes;
use super::kernel::MatrixMut;
use super::matrix::Matrix;

/// A type of distances, none of them negative. Implemented for `i32`, `u16` and `f32`.
///
/// ```
/// use halotile::apsp::Distance;
/// assert_eq!(3.plus(4), 7);
/// // A path over a vertex that cannot be reached is no path.
/// let nowhere = i32::UNREACHABLE.plus(i32::UNREACHABLE);
/// assert_eq!(i32::UNREACHABLE.nearer(nowhere), 1_073_741_823);
/// ```
pub trait Distance: Lanes + Pod + PartialEq + PartialOrd + Debug + Display + Send + Sync {
    /// Of a vertex that cannot be reached: larger than all distances, and its double is still a number.
    const UNREACHABLE: Self;
    /// From a vertex to itself.
    const ZERO: Self;
    /// How NPY calls the type: `<i4`. The 16 bits are `<i2`: no distance has the highest one, and everything reads signed integers.
    const NPY: &'static str;

    /// The length of two paths one after the other. Both are at most [`UNREACHABLE`](Self::UNREACHABLE).
    fn plus(self, other: Self) -> Self;

    /// The lesser of two.
    fn nearer(self, other: Self) -> Self;

    /// As a number for comparisons: exact, and infinite for [`UNREACHABLE`](Self::UNREACHABLE).
    fn to_f64(self) -> f64;

    /// A matrix of this type as one whose type is a value.
    fn any(matrix: &mut Matrix<Self>) -> MatrixMut<'_>;
}

macro_rules! whole {
    ($($t:ty, $kind:ident, $unreachable:expr, $npy:literal;)*) => {$(
        impl Distance for $t {
            const UNREACHABLE: Self = $unreachable;
            const ZERO: Self = 0;
            const NPY: &'static str = $npy;

            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }

            #[inline(always)]
            fn nearer(self, other: Self) -> Self {
                Ord::min(self, other)
            }

            #[inline(always)]
            fn to_f64(self) -> f64 {
                if self == Self::UNREACHABLE { f64::INFINITY } else { f64::from(self) }
            }

            fn any(matrix: &mut Matrix<Self>) -> MatrixMut<'_> {
                MatrixMut::$kind(matrix)
            }
        }
    )*};
}
whole! {
    i32, I32, (1 << 30) - 1, "<i4";
    u16, U16, (1 << 15) - 1, "<i2";
}

impl Distance for f32 {
    const UNREACHABLE: Self = f32::INFINITY;
    const ZERO: Self = 0.0;
    const NPY: &'static str = "<f4";

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        self + other
    }

    // Not `f32::min`, which handles NaN: there is none, and vector units have this as one instruction.
    #[inline(always)]
    fn nearer(self, other: Self) -> Self {
        if self < other { self } else { other }
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    fn any(matrix: &mut Matrix<Self>) -> MatrixMut<'_> {
        MatrixMut::F32(matrix)
    }
}

/// The type of weights and distances that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Weight {
    /// 32-bit integers where they hold all weights, floating-point numbers otherwise.
    #[default]
    Auto,
    /// 32-bit integers; distances below 2^30 - 1.
    I32,
    /// 16-bit integers; distances below 2^15 - 1.
    I16,
    /// 32-bit floating-point numbers.
    F32,
}

impl Weight {
    /// All of them, in the order messages list them.
    pub const ALL: &'static [Weight] = &[Self::Auto, Self::I32, Self::I16, Self::F32];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::I32 => "i32",
            Self::I16 => "i16",
            Self::F32 => "f32",
        }
    }
}

/// Not the name of a [`Weight`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there are no weights {0:?}; they are auto, i32, i16 or f32")]
pub struct UnknownWeight(String);

impl FromStr for Weight {
    type Err = UnknownWeight;

    fn from_str(name: &str) -> Result<Self, UnknownWeight> {
        Self::ALL.iter().copied().find(|weight| weight.name() == name).ok_or_else(|| UnknownWeight(name.to_owned()))
    }
}

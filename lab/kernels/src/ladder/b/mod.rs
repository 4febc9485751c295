//! Ladder B, the second report: b0 to b9.
//!
//! The first five reach their cells through a matrix, a structure in global memory: its height, its width, and a pointer to an
//! array of pointers to rows. b5 keeps the structure and makes its rows one array; b6 and b7 take it apart.

use simt::global::{Pointee, Pointers};

mod b0;
mod b1;
mod b2;
mod b3;
mod b4;
mod b5;
mod b6;
mod b7;
mod b8;
mod b9;

pub use b0::*;
pub use b1::*;
pub use b2::*;
pub use b3::*;
pub use b4::*;
pub use b5::*;
pub use b6::*;
pub use b7::*;
pub use b8::*;
pub use b9::*;

/// A matrix in global memory, as 64-bit words: height, width, and a pointer to what `H` is.
#[derive(Clone, Copy)]
struct Matrix<H>(Pointers<H>);

impl<H: Pointee> Matrix<H> {
    #[inline(always)]
    fn height(self) -> u32 {
        self.0.numbers::<u64>().load(0) as u32
    }

    #[inline(always)]
    fn width(self) -> u32 {
        self.0.numbers::<u64>().load(1) as u32
    }

    #[inline(always)]
    fn data(self) -> H {
        self.0.load(2)
    }
}

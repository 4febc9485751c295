//! Ladder A, the first report: v0 to v9.

mod v0;
mod v1;
mod v2;
mod v3;
mod v4;
mod v5;
mod v6;
mod v7;
mod v8;
mod v9;

pub use v0::*;
pub use v1::*;
pub use v2::*;
pub use v3::*;
pub use v4::*;
pub use v5::*;
pub use v6::*;
pub use v7::*;
pub use v8::*;
pub use v9::*;

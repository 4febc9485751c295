//! Textures: read-only arrays that the texture unit fetches, by integer cell coordinates.
//!
//! Coordinates outside give 0 (border addressing), which is how the launch creates them. Elements
//! are 8-bit, 32-bit integer or f32.

use core::marker::PhantomData;

use crate::backend::{self, TextureHandle};

/// A texture element type: `u8`, `u32` or `f32`.
pub trait Texel: Copy + 'static {
    /// The element from the 32-bit word that the texture unit returns.
    fn from_word(word: u32) -> Self;
}
impl Texel for u8 {
    #[inline(always)]
    fn from_word(word: u32) -> Self {
        word as u8
    }
}
impl Texel for u32 {
    #[inline(always)]
    fn from_word(word: u32) -> Self {
        word
    }
}
impl Texel for f32 {
    #[inline(always)]
    fn from_word(word: u32) -> Self {
        f32::from_bits(word)
    }
}

macro_rules! textures {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        pub struct $name<T>(TextureHandle, PhantomData<*const T>);

        impl<T> Clone for $name<T> {
            #[inline(always)]
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $name<T> {}

        impl<T: Texel> $name<T> {
            /// Wraps the backend's description of a texture.
            #[inline(always)]
            #[cfg_attr(target_arch = "nvptx64", allow(dead_code))]
            pub(crate) fn from_backend(handle: TextureHandle) -> Self {
                Self(handle, PhantomData)
            }
        }
    )*};
}
textures! {
    /// A one-dimensional texture.
    Texture1d
    /// A two-dimensional texture.
    Texture2d
}

impl<T: Texel> Texture1d<T> {
    /// Element `x`.
    #[inline(always)]
    #[track_caller]
    pub fn fetch(self, x: i32) -> T {
        T::from_word(backend::texture_fetch_1d(self.0, x))
    }
}

impl<T: Texel> Texture2d<T> {
    /// Element (x, y): column x of row y.
    #[inline(always)]
    #[track_caller]
    pub fn fetch(self, x: i32, y: i32) -> T {
        T::from_word(backend::texture_fetch_2d(self.0, x, y))
    }
}

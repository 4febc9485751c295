//! Typed loads and stores: one PTX instruction a type and memory space.

use core::arch::asm;

use super::Global;

/// Loads and stores of one element. Internal: see `scalar::Scalar`.
pub trait Access: Copy {
    fn load_global(buffer: Global, index: usize) -> Self;
    fn load_global_readonly(buffer: Global, index: usize) -> Self;
    fn store_global(buffer: Global, index: usize, value: Self);
    fn load_shared(address: u32) -> Self;
    fn store_shared(address: u32, value: Self);
    fn load_constant(table: *const Self, index: u32) -> Self;
}

/// Loads and stores of four (or two) elements at once. Internal: see `scalar::Word`.
pub trait AccessWord: Access {
    fn load4_global(buffer: Global, index: usize) -> [Self; 4];
    fn load4_global_readonly(buffer: Global, index: usize) -> [Self; 4];
    fn store4_global(buffer: Global, index: usize, values: [Self; 4]);
    fn store2_global_if(condition: bool, buffer: Global, index: usize, values: [Self; 2]);
    fn store4_global_if(condition: bool, buffer: Global, index: usize, values: [Self; 4]);
    fn load4_shared(address: u32) -> [Self; 4];
    fn store4_shared(address: u32, values: [Self; 4]);
}

// `$carrier` is the register type: the assembler has no 8-bit registers, and its 16-bit ones gain nothing.
macro_rules! access {
    ($($t:ty, $ptx:literal, $register:ident, $carrier:ty, $to:expr, $from:expr;)*) => {$(
        impl Access for $t {
            #[inline(always)]
            fn load_global(buffer: Global, index: usize) -> Self {
                let value: $carrier;
                let address = buffer.cast::<$t>().wrapping_add(index);
                // SAFETY: the kernel's promise on its buffers' lengths.
                unsafe {
                    asm!(concat!("ld.global.", $ptx, " {v}, [{a}];"), v = out($register) value,
                        a = in(reg64) address, options(readonly, nostack));
                }
                $from(value)
            }
            #[inline(always)]
            fn load_global_readonly(buffer: Global, index: usize) -> Self {
                let value: $carrier;
                let address = buffer.cast::<$t>().wrapping_add(index);
                // SAFETY: the kernel's promise on its buffers' lengths; nothing writes an `In`.
                unsafe {
                    asm!(concat!("ld.global.nc.", $ptx, " {v}, [{a}];"), v = out($register) value,
                        a = in(reg64) address, options(pure, readonly, nostack));
                }
                $from(value)
            }
            #[inline(always)]
            fn store_global(buffer: Global, index: usize, value: Self) {
                let address = buffer.cast::<$t>().wrapping_add(index);
                // SAFETY: the kernel's promise on its buffers' lengths.
                unsafe {
                    asm!(concat!("st.global.", $ptx, " [{a}], {v};"), v = in($register) $to(value),
                        a = in(reg64) address, options(nostack));
                }
            }
            #[inline(always)]
            fn load_shared(address: u32) -> Self {
                let value: $carrier;
                // SAFETY: the address lies in the block's shared memory by the kernel's promise.
                unsafe {
                    asm!(concat!("ld.shared.", $ptx, " {v}, [{a}];"), v = out($register) value,
                        a = in(reg32) address, options(pure, readonly, nostack));
                }
                $from(value)
            }
            #[inline(always)]
            fn store_shared(address: u32, value: Self) {
                // SAFETY: the address lies in the block's shared memory by the kernel's promise.
                unsafe {
                    asm!(concat!("st.shared.", $ptx, " [{a}], {v};"), v = in($register) $to(value),
                        a = in(reg32) address, options(nostack));
                }
            }
            #[inline(always)]
            fn load_constant(table: *const Self, index: u32) -> Self {
                let value: $carrier;
                let address = table.wrapping_add(index as usize);
                // SAFETY: the kernel's promise that the index is inside the table.
                unsafe {
                    asm!(concat!("ld.const.", $ptx, " {v}, [{a}];"), v = out($register) value,
                        a = in(reg64) address, options(pure, readonly, nostack));
                }
                $from(value)
            }
        }
    )*};
}

access! {
    u8, "u8", reg32, u32, u32::from, |v| v as u8;
    i8, "s8", reg32, i32, i32::from, |v| v as i8;
    u16, "u16", reg32, u32, u32::from, |v| v as u16;
    i16, "s16", reg32, i32, i32::from, |v| v as i16;
    u32, "u32", reg32, u32, core::convert::identity, core::convert::identity;
    i32, "s32", reg32, i32, core::convert::identity, core::convert::identity;
    u64, "u64", reg64, u64, core::convert::identity, core::convert::identity;
    i64, "s64", reg64, i64, core::convert::identity, core::convert::identity;
    f32, "f32", reg32, f32, core::convert::identity, core::convert::identity;
    f64, "f64", reg64, f64, core::convert::identity, core::convert::identity;
}

macro_rules! access_word {
    ($($t:ty, $ptx:literal;)*) => {$(
        impl AccessWord for $t {
            #[inline(always)]
            fn load4_global(buffer: Global, index: usize) -> [Self; 4] {
                let (a, b, c, d);
                let address = buffer.cast::<$t>().wrapping_add(index);
                // SAFETY: the kernel's promise on its buffers' lengths and alignment.
                unsafe {
                    asm!(concat!("ld.global.v4.", $ptx, " {{{a}, {b}, {c}, {d}}}, [{p}];"),
                        a = out(reg32) a, b = out(reg32) b, c = out(reg32) c, d = out(reg32) d,
                        p = in(reg64) address, options(readonly, nostack));
                }
                [a, b, c, d]
            }
            #[inline(always)]
            fn load4_global_readonly(buffer: Global, index: usize) -> [Self; 4] {
                let (a, b, c, d);
                let address = buffer.cast::<$t>().wrapping_add(index);
                // SAFETY: the kernel's promise on its buffers' lengths and alignment.
                unsafe {
                    asm!(concat!("ld.global.nc.v4.", $ptx, " {{{a}, {b}, {c}, {d}}}, [{p}];"),
                        a = out(reg32) a, b = out(reg32) b, c = out(reg32) c, d = out(reg32) d,
                        p = in(reg64) address, options(pure, readonly, nostack));
                }
                [a, b, c, d]
            }
            #[inline(always)]
            fn store4_global(buffer: Global, index: usize, [a, b, c, d]: [Self; 4]) {
                let address = buffer.cast::<$t>().wrapping_add(index);
                // SAFETY: the kernel's promise on its buffers' lengths and alignment.
                unsafe {
                    asm!(concat!("st.global.v4.", $ptx, " [{p}], {{{a}, {b}, {c}, {d}}};"),
                        a = in(reg32) a, b = in(reg32) b, c = in(reg32) c, d = in(reg32) d,
                        p = in(reg64) address, options(nostack));
                }
            }
            #[inline(always)]
            fn store2_global_if(condition: bool, buffer: Global, index: usize, [a, b]: [Self; 2]) {
                let address = buffer.cast::<$t>().wrapping_add(index);
                // SAFETY: the kernel's promise on its buffers' lengths and alignment.
                unsafe {
                    asm!("{{", ".reg .pred %p;", "setp.ne.u32 %p, {c}, 0;",
                        concat!("@%p st.global.v2.", $ptx, " [{p}], {{{a}, {b}}};"), "}}",
                        a = in(reg32) a, b = in(reg32) b, p = in(reg64) address,
                        c = in(reg32) u32::from(condition), options(nostack));
                }
            }
            #[inline(always)]
            fn store4_global_if(condition: bool, buffer: Global, index: usize, [a, b, c, d]: [Self; 4]) {
                let address = buffer.cast::<$t>().wrapping_add(index);
                // SAFETY: the kernel's promise on its buffers' lengths and alignment.
                unsafe {
                    asm!("{{", ".reg .pred %p;", "setp.ne.u32 %p, {i}, 0;",
                        concat!("@%p st.global.v4.", $ptx, " [{p}], {{{a}, {b}, {c}, {d}}};"), "}}",
                        a = in(reg32) a, b = in(reg32) b, c = in(reg32) c, d = in(reg32) d,
                        p = in(reg64) address, i = in(reg32) u32::from(condition), options(nostack));
                }
            }
            #[inline(always)]
            fn load4_shared(address: u32) -> [Self; 4] {
                let (a, b, c, d);
                // SAFETY: the address lies in the block's shared memory by the kernel's promise.
                unsafe {
                    asm!(concat!("ld.shared.v4.", $ptx, " {{{a}, {b}, {c}, {d}}}, [{p}];"),
                        a = out(reg32) a, b = out(reg32) b, c = out(reg32) c, d = out(reg32) d,
                        p = in(reg32) address, options(pure, readonly, nostack));
                }
                [a, b, c, d]
            }
            #[inline(always)]
            fn store4_shared(address: u32, [a, b, c, d]: [Self; 4]) {
                // SAFETY: the address lies in the block's shared memory by the kernel's promise.
                unsafe {
                    asm!(concat!("st.shared.v4.", $ptx, " [{p}], {{{a}, {b}, {c}, {d}}};"),
                        a = in(reg32) a, b = in(reg32) b, c = in(reg32) c, d = in(reg32) d,
                        p = in(reg32) address, options(nostack));
                }
            }
        }
    )*};
}

access_word! {
    u32, "u32";
    i32, "s32";
    f32, "f32";
}

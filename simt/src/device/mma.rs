//! Tensor-core operations in PTX.

use core::arch::asm;

macro_rules! products {
    ($($name:ident $product:literal;)*) => {$(
        #[inline(always)]
        pub fn $name(a: [u32; 4], b: [u32; 2], c: [u32; 4]) -> [u32; 4] {
            let (d0, d1, d2, d3);
            // SAFETY: all lanes of the warp come here together by the kernel's promise; touches no memory.
            unsafe {
                asm!(concat!("mma.sync.aligned.", $product, " \
                      {{{d0}, {d1}, {d2}, {d3}}}, {{{a0}, {a1}, {a2}, {a3}}}, {{{b0}, {b1}}}, {{{c0}, {c1}, {c2}, {c3}}};"),
                    d0 = out(reg32) d0, d1 = out(reg32) d1, d2 = out(reg32) d2, d3 = out(reg32) d3,
                    a0 = in(reg32) a[0], a1 = in(reg32) a[1], a2 = in(reg32) a[2], a3 = in(reg32) a[3],
                    b0 = in(reg32) b[0], b1 = in(reg32) b[1],
                    c0 = in(reg32) c[0], c1 = in(reg32) c[1], c2 = in(reg32) c[2], c3 = in(reg32) c[3],
                    options(nomem, nostack));
            }
            [d0, d1, d2, d3]
        }
    )*};
}
products! {
    multiply_add_u8 "m16n8k32.row.col.s32.u8.u8.s32";
    multiply_add_b1 "m16n8k256.row.col.s32.b1.b1.s32.and.popc";
}

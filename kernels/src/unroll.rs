//! Loops that are written out: what is indexed by a constant can stay in registers, which have no addresses.

/// `$body` once for each of the numbers, with `$i` a constant.
macro_rules! unroll {
    ($i:ident in $($n:literal)* => $body:block) => {{
        $({
            const $i: usize = $n;
            $body
        })*
    }};
}
pub(crate) use unroll;

/// `$body` four times, with `$i` the constants 0 to 3.
macro_rules! four {
    ($i:ident => $body:block) => {
        $crate::unroll::unroll!($i in 0 1 2 3 => $body)
    };
}
pub(crate) use four;

/// `$body` eight times, with `$i` the constants 0 to 7.
macro_rules! eight {
    ($i:ident => $body:block) => {
        $crate::unroll::unroll!($i in 0 1 2 3 4 5 6 7 => $body)
    };
}
pub(crate) use eight;

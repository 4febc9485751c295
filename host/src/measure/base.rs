//! The unit of an entropy: the base of its logarithm.

/// The unit of the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Base {
    /// Nats: the natural logarithm.
    #[default]
    E,
    /// Bits: base 2.
    Two,
    /// Hartleys: base 10.
    Ten,
}

impl Base {
    /// The base's natural logarithm.
    pub fn ln(self) -> f64 {
        match self {
            Self::E => 1.0,
            Self::Two => std::f64::consts::LN_2,
            Self::Ten => std::f64::consts::LN_10,
        }
    }

    /// The unit's name.
    pub fn unit(self) -> &'static str {
        match self {
            Self::E => "nats",
            Self::Two => "bits",
            Self::Ten => "hartleys",
        }
    }
}

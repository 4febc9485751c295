//! The measures, by name.

use std::fmt;
use std::str::FromStr;

/// A measure of how diverse the classes in a window are. p_i is a class's share of the window's valid cells, S the number
/// of classes that occur.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    /// Shannon's entropy (SHDI of FRAGSTATS): H = −Σ p_i·ln p_i.
    Shannon,
    /// Simpson's diversity (SIDI of FRAGSTATS, Gini and Simpson's index): 1 − Σ p_i².
    Simpson,
    /// The number of classes that occur, S (PR of FRAGSTATS).
    Richness,
    /// Pielou's evenness (SHEI of FRAGSTATS): H / ln S, and 0 where there is one class.
    Evenness,
    /// Rényi's entropy of order α ≥ 0: ln(Σ p_i^α) / (1 − α); ln S for 0, H for 1, −ln max p_i for infinity.
    Renyi(f64),
    /// Hill's number of order q ≥ 0: the exponential of Rényi's entropy in nats.
    Hill(f64),
}

/// A text that names no measure.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownMeasure {
    /// No measure has this name.
    #[error("no measure is called {0:?}; the measures are shannon, simpson, richness, evenness, renyi:ALPHA, hill:Q")]
    Name(String),
    /// The order is no number from 0 up, or is missing, or there is one where none belongs.
    #[error("{0:?}: the order is a number from 0 up or inf, as in renyi:2 or hill:1.5; other measures have none")]
    Order(String),
}

impl FromStr for Measure {
    type Err = UnknownMeasure;

    fn from_str(text: &str) -> Result<Self, UnknownMeasure> {
        let (name, order) = match text.split_once(':') {
            Some((name, order)) => (name, Some(order)),
            None => (text, None),
        };
        let wrong = || UnknownMeasure::Order(text.to_owned());
        let order_of = || order.and_then(|o| o.parse::<f64>().ok()).filter(|o| *o >= 0.0).ok_or_else(wrong);
        let plain = |measure| if order.is_none() { Ok(measure) } else { Err(wrong()) };
        match name {
            "shannon" => plain(Self::Shannon),
            "simpson" => plain(Self::Simpson),
            "richness" => plain(Self::Richness),
            "evenness" => plain(Self::Evenness),
            "renyi" => order_of().map(Self::Renyi),
            "hill" => order_of().map(Self::Hill),
            _ => Err(UnknownMeasure::Name(text.to_owned())),
        }
    }
}

/// As it is parsed.
impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shannon => f.pad("shannon"),
            Self::Simpson => f.pad("simpson"),
            Self::Richness => f.pad("richness"),
            Self::Evenness => f.pad("evenness"),
            Self::Renyi(order) => f.pad(&format!("renyi:{order}")),
            Self::Hill(order) => f.pad(&format!("hill:{order}")),
        }
    }
}

//! The measures, by name.

use std::fmt;
use std::str::FromStr;

/// A measure of how diverse the classes in a window are. p_i is a class's share of the window's valid cells, S the number
/// of classes that occur. Where one class occurs, richness and Hill's numbers are 1 and all others exactly 0.
///
/// Shannon's and Rényi's entropies come in the unit asked for (nats, bits, hartleys), and Shannon's may be divided by its
/// largest value instead; the others have no unit.
///
/// ```
/// use halotile::measure::Measure;
/// assert_eq!("shannon".parse(), Ok(Measure::Shannon));
/// assert_eq!("renyi:0.5".parse(), Ok(Measure::Renyi(0.5)));
/// assert_eq!("hill:inf".parse(), Ok(Measure::Hill(f64::INFINITY)));
/// assert_eq!(Measure::Hill(2.0).to_string(), "hill:2");
/// assert!("hill".parse::<Measure>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Measure {
    /// Shannon's entropy (SHDI of FRAGSTATS): H = −Σ p_i·ln p_i.
    ///
    /// C. E. Shannon, A Mathematical Theory of Communication, 1948, section 6.
    Shannon,
    /// Simpson's diversity (SIDI of FRAGSTATS, the Gini-Simpson index): 1 − Σ p_i².
    ///
    /// E. H. Simpson, Measurement of Diversity, 1949: his λ is Σ p_i².
    Simpson,
    /// The number of classes that occur, S (PR of FRAGSTATS).
    Richness,
    /// Pielou's evenness (SHEI of FRAGSTATS): H / ln S, and 0 where there is one class.
    ///
    /// E. C. Pielou, The Measurement of Diversity in Different Types of Biological Collections, 1966: her J, with the classes
    /// that occur in the window.
    Evenness,
    /// Rényi's entropy of order α ≥ 0: ln(Σ p_i^α) / (1 − α); ln S for 0, H for 1, −ln max p_i for infinity.
    ///
    /// A. Rényi, On Measures of Entropy and Information, 1961.
    Renyi(f64),
    /// Hill's number of order q ≥ 0: the exponential of Rényi's entropy in nats. S for 0, 1 / Σ p_i² for 2, 1 / max p_i for
    /// infinity.
    ///
    /// M. O. Hill, Diversity and Evenness: A Unifying Notation and Its Consequences, 1973.
    Hill(f64),
}

impl Measure {
    /// The order of Rényi's entropy and of Hill's number; the other measures have none.
    pub fn order(self) -> Option<f64> {
        match self {
            Self::Renyi(order) | Self::Hill(order) => Some(order),
            _ => None,
        }
    }

    /// The largest value there can be in windows with `classes` classes or fewer, in nats where the measure is an entropy.
    ///
    /// ```
    /// use halotile::measure::Measure;
    /// assert_eq!(Measure::Shannon.bound(25), 25f64.ln());
    /// assert_eq!((Measure::Simpson.bound(4), Measure::Hill(2.0).bound(4)), (0.75, 4.0));
    /// ```
    pub fn bound(self, classes: usize) -> f64 {
        let classes = classes.max(1) as f64;
        match self {
            Self::Shannon | Self::Renyi(_) => classes.ln(),
            Self::Simpson => 1.0 - 1.0 / classes,
            Self::Evenness => 1.0,
            Self::Richness | Self::Hill(_) => classes,
        }
    }

    /// False for an order below 0 or NaN, which nothing parses to, and for which nothing is defined.
    ///
    /// ```
    /// use halotile::measure::Measure;
    /// assert!(Measure::Hill(0.0).is_defined() && !Measure::Renyi(-1.0).is_defined());
    /// ```
    pub fn is_defined(self) -> bool {
        self.order().is_none_or(|order| order >= 0.0)
    }
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
        // Adding 0 takes the sign from −0.
        let order_of =
            || order.and_then(|o| o.parse::<f64>().ok()).filter(|o| *o >= 0.0).map(|o| o + 0.0).ok_or_else(wrong);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_parsed_back() {
        use Measure::*;
        for measure in [
            Shannon,
            Simpson,
            Richness,
            Evenness,
            Renyi(0.0),
            Renyi(0.1),
            Renyi(1e-300),
            Hill(2.0),
            Hill(f64::MAX),
            Hill(f64::INFINITY),
        ] {
            assert_eq!(measure.to_string().parse(), Ok(measure));
        }
        assert_eq!("renyi:-0".parse::<Measure>().unwrap().to_string(), "renyi:0");
    }

    #[test]
    fn what_is_no_measure_is_refused_with_a_reason() {
        for name in ["", "Shannon", "entropy", "shannon ", "renyi2", ":2"] {
            assert_eq!(name.parse::<Measure>(), Err(UnknownMeasure::Name(name.to_owned())));
        }
        for text in
            ["renyi", "renyi:", "renyi:-1", "hill:nan", "hill:two", "hill:1:2", "shannon:1", "richness:", "hill: 1"]
        {
            assert_eq!(text.parse::<Measure>(), Err(UnknownMeasure::Order(text.to_owned())), "{text}");
        }
        let message = "hill:-2".parse::<Measure>().unwrap_err().to_string();
        assert!(message.starts_with(r#""hill:-2": the order is a number from 0 up or inf"#), "{message}");
    }

    #[test]
    fn orders_below_0_are_not_defined() {
        assert!(Measure::Shannon.is_defined() && Measure::Renyi(0.0).is_defined());
        assert!(!Measure::Hill(f64::NAN).is_defined() && !Measure::Hill(-1e-9).is_defined());
        assert_eq!((Measure::Evenness.order(), Measure::Hill(3.0).order()), (None, Some(3.0)));
    }
}

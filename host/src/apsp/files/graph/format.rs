//! The names of the formats of graphs, and which file name ending stands for which.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use crate::io::UnknownFormat;
use crate::io::format::{by_name, detect};

/// A format of graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GraphFormat {
    /// 32-bit numbers of vertices and edges, then from, to and weight of every edge.
    Binary,
    /// The shortest-path format of the DIMACS challenges.
    Dimacs,
    /// Lines of from, to and weight.
    EdgeList,
    /// Matrix Market's coordinate format.
    MatrixMarket,
    /// A matrix of weights as NumPy's array file.
    Npy,
}

impl GraphFormat {
    /// Every format, in the order messages list them.
    pub const ALL: &'static [GraphFormat] =
        &[Self::Binary, Self::Dimacs, Self::EdgeList, Self::MatrixMarket, Self::Npy];

    /// The format's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Dimacs => "dimacs",
            Self::EdgeList => "edge-list",
            Self::MatrixMarket => "matrix-market",
            Self::Npy => "npy",
        }
    }

    fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Binary => &["bin"],
            Self::Dimacs => &["gr"],
            Self::EdgeList => &["csv", "tsv", "txt", "edges"],
            Self::MatrixMarket => &["mtx"],
            Self::Npy => &["npy"],
        }
    }

    /// The format that the ending of `path` stands for.
    ///
    /// ```
    /// use halotile::apsp::files::graph::GraphFormat;
    /// assert_eq!(GraphFormat::detect("roads.GR".as_ref()), Ok(GraphFormat::Dimacs));
    /// assert_eq!(
    ///     GraphFormat::detect("roads.xml".as_ref()).unwrap_err().to_string(),
    ///     "roads.xml: the ending does not say the format; end the name in one of .bin (binary), .gr (dimacs), \
    ///      .csv (edge-list), .tsv (edge-list), .txt (edge-list), .edges (edge-list), .mtx (matrix-market), .npy (npy), \
    ///      or name the format"
    /// );
    /// ```
    ///
    /// # Errors
    /// [`UnknownFormat`] for an ending that no format has.
    pub fn detect(path: &Path) -> Result<Self, UnknownFormat> {
        let known = Self::ALL.iter().flat_map(|&f| f.endings().iter().map(move |&e| (e, f.name(), f)));
        detect(path, &known.collect::<Vec<_>>())
    }
}

impl FromStr for GraphFormat {
    type Err = UnknownFormat;
    fn from_str(name: &str) -> Result<Self, UnknownFormat> {
        by_name(name, Self::ALL, Self::name)
    }
}

impl fmt::Display for GraphFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_endings_lead_back_to_their_format() {
        for &format in GraphFormat::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
            for ending in format.endings() {
                assert_eq!(GraphFormat::detect(format!("dir.x/a.b.{ending}").as_ref()), Ok(format));
            }
        }
        assert_eq!(
            "gr".parse::<GraphFormat>().unwrap_err().to_string(),
            "no format is called \"gr\"; the formats are binary, dimacs, edge-list, matrix-market, npy"
        );
    }
}

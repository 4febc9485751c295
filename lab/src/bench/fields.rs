//! Named values in an order: what a record says of the work, and what tells one row from another.
//!
//! The order is part of what is said ("offset 3, kind x"), so this is a list of pairs and no map. In JSON it is an object, which readers that
//! keep the order of keys read as it was written; [`Record::read`](super::Record::read) is one, a `serde_json::Value` in between is not.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// Names and values, in order.
///
/// ```
/// use halotile_lab::bench::Fields;
/// let fields = Fields::default().with("rows", 400).with("cols", 300).with("pattern", "random");
/// assert_eq!((fields.number("cols"), fields.text("pattern")), (300, "random"));
/// let json = serde_json::to_string(&fields)?;
/// assert_eq!(json, r#"{"rows":400,"cols":300,"pattern":"random"}"#);
/// assert_eq!(serde_json::from_str::<Fields>(&json)?, fields);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fields(Vec<(String, Value)>);

impl Fields {
    /// With one more at the end.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.push((name.to_owned(), value.into()));
        self
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.iter().find_map(|(known, value)| (known == name).then_some(value))
    }

    /// A text; empty where there is none of this name.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A whole number; 0 where there is none of this name.
    pub fn number(&self, name: &str) -> usize {
        self.get(name).and_then(Value::as_u64).and_then(|number| number.try_into().ok()).unwrap_or(0)
    }

    /// A list of whole numbers; empty where there is none of this name.
    pub fn numbers(&self, name: &str) -> Vec<usize> {
        self.get(name).and_then(|value| Vec::deserialize(value).ok()).unwrap_or_default()
    }

    /// All of them, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

impl<N: Into<String>, V: Into<Value>> FromIterator<(N, V)> for Fields {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(fields: I) -> Self {
        Self(fields.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Pairs;
        impl<'de> Visitor<'de> for Pairs {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of names and values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

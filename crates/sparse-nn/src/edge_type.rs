//! The names of the types of a graph.

use core::fmt::{Display, Formatter};
use serde::{Deserialize, Serialize};

/// The type of an edge in a graph whose nodes have types: from nodes of the type `source` to nodes of the type
/// `target`.
///
/// The adjacency of a type is `[M, N]`, with a row for each node of `target` and a column for each node of `source`.
///
/// ```
/// use sparse_tensor::nn::EdgeType;
///
/// let writes = EdgeType::new("author", "writes", "paper");
/// assert_eq!(writes.to_string(), "author-writes-paper");
/// assert_eq!(writes.reversed(), EdgeType::new("paper", "rev_writes", "author"));
/// assert_eq!(writes, ("author", "writes", "paper").into());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EdgeType {
    /// Type of the nodes that edges come from.
    pub source: String,
    /// What the edge means.
    pub relation: String,
    /// Type of the nodes that edges go to.
    pub target: String,
}

impl EdgeType {
    /// The type of edges from `source` to `target`.
    pub fn new(source: &str, relation: &str, target: &str) -> Self {
        Self { source: source.into(), relation: relation.into(), target: target.into() }
    }

    /// The type of the same edges in the other direction. A relation `r` becomes `rev_r`, and `rev_r` becomes `r`.
    pub fn reversed(&self) -> Self {
        let relation = match self.relation.strip_prefix("rev_") {
            Some(relation) => relation.into(),
            None => format!("rev_{}", self.relation),
        };
        Self { source: self.target.clone(), relation, target: self.source.clone() }
    }
}

impl Display for EdgeType {
    fn fmt(&self, f: &mut Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}-{}-{}", self.source, self.relation, self.target)
    }
}

impl From<(&str, &str, &str)> for EdgeType {
    fn from((source, relation, target): (&str, &str, &str)) -> Self {
        Self::new(source, relation, target)
    }
}

impl From<&EdgeType> for EdgeType {
    fn from(own: &EdgeType) -> Self {
        own.clone()
    }
}

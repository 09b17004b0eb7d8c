//! Lines to edges.

use super::list::EdgeList;
use crate::io::source::Lines;
use crate::io::source::shown;
use sparse_ops::extend::Allowed;
use sparse_ops::{Result, SparseError};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::BufRead;

pub(super) const OP: &str = "edge_list";

/// What a file does not say itself. [`new`](Options::new) finds out as much as it can.
#[derive(Clone, Debug, Default)]
pub struct Options {
    separator: Option<Separator>,
    header: Option<bool>,
    weights: Weights,
    first: usize,
    names: bool,
    nodes: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Separator {
    Spaces,
    Byte(u8),
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Weights {
    /// The third column, if there is one.
    #[default]
    Third,
    None,
    Column(usize),
}

impl Options {
    /// - The separator is the first of tab, comma and semicolon that the first line has; else spaces.
    /// - The first line is a header if its nodes (or its weight) are not numbers.
    /// - A third column is the weight. Further ones are ignored.
    /// - Nodes are numbers from 0; there is one more than the largest.
    pub fn new() -> Self {
        Self::default()
    }

    /// This byte between two fields; a space stands for any number of spaces and tabs.
    pub fn with_separator(mut self, separator: u8) -> Self {
        self.separator = Some(if separator == b' ' { Separator::Spaces } else { Separator::Byte(separator) });
        self
    }

    /// Whether the first line is a header.
    pub fn with_header(mut self, header: bool) -> Self {
        self.header = Some(header);
        self
    }

    /// The column of the weights, from 0; `None` if there are none.
    pub fn with_weights(mut self, column: Option<usize>) -> Self {
        self.weights = column.map_or(Weights::None, Weights::Column);
        self
    }

    /// The number of the first node: 1 if the file counts from 1.
    pub fn with_first(mut self, first: usize) -> Self {
        self.first = first;
        self
    }

    /// Nodes are names, or numbers with gaps: each gets a number from 0, in the order in which they first occur. Only a
    /// weight that is no number shows a header then; for a header without one call [`with_header`](Self::with_header).
    pub fn with_names(mut self) -> Self {
        self.names = true;
        self
    }

    /// The number of nodes. More of them are an error.
    pub fn with_nodes(mut self, nodes: usize) -> Self {
        self.nodes = Some(nodes);
        self
    }
}

/// Edges and what is known of the form after the first line.
struct Collected<'a> {
    options: &'a Options,
    separator: Separator,
    weights: Option<usize>,
    /// Number of fields of the first line.
    fields: usize,
    out: EdgeList,
    numbers: HashMap<Vec<u8>, usize>,
    allowed: Allowed,
}

pub(super) fn parse_list(source: impl BufRead, options: &Options) -> Result<EdgeList> {
    let separator = options.separator.and_then(|separator| match separator {
        Separator::Byte(byte) => Some(byte),
        Separator::Spaces => None,
    });
    let mut lines = Lines::separated(source, separator);
    let mut found: Option<Collected<'_>> = None;
    while let Some((number, line)) = lines.next().map_err(|message| SparseError::invalid(OP, message))? {
        // A mark of the encoding, which spreadsheets write.
        let line = if number == 1 { line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line) } else { line };
        if [&b"#"[..], b"%", b"//"].iter().any(|mark| line.starts_with(mark)) {
            continue;
        }
        let at = |message: String| SparseError::invalid(OP, format!("line {number}: {message}"));
        let Some(list) = &mut found else {
            let mut list = Collected::new(line, options);
            let header = options.header.unwrap_or_else(|| list.is_header(line));
            if !header {
                list.push(line).map_err(at)?;
            }
            found = Some(list);
            continue;
        };
        list.push(line).map_err(at)?;
    }
    let Some(list) = found else { return Ok(EdgeList { nodes: options.nodes.unwrap_or(0), ..EdgeList::default() }) };
    let mut out = list.out;
    let named = out.edges.iter().map(|&(from, to)| from.max(to) + 1).max().unwrap_or(0);
    out.nodes = options.nodes.unwrap_or(named);
    Ok(out)
}

impl<'a> Collected<'a> {
    fn new(line: &[u8], options: &'a Options) -> Self {
        let has = |byte: &u8| line.contains(byte);
        let separator = options
            .separator
            .unwrap_or_else(|| [b'\t', b',', b';'].into_iter().find(has).map_or(Separator::Spaces, Separator::Byte));
        let fields = Fields { rest: Some(line), separator }.count();
        let weights = match options.weights {
            Weights::Third => (fields > 2).then_some(2),
            Weights::None => None,
            Weights::Column(column) => Some(column),
        };
        let out = EdgeList { weights: weights.map(|_| vec![]), ..EdgeList::default() };
        Self { options, separator, weights, fields, out, numbers: HashMap::new(), allowed: Allowed::now() }
    }

    fn is_header(&self, line: &[u8]) -> bool {
        let mut fields = Fields { rest: Some(line), separator: self.separator };
        let weight = self.weights.and_then(|column| Fields { rest: Some(line), separator: self.separator }.nth(column));
        let nodes = !self.options.names && fields.by_ref().take(2).any(|node| number::<f64>(&node).is_none());
        nodes || weight.is_some_and(|weight| number::<f64>(&weight).is_none())
    }

    /// The number of a node that the file gives as a number.
    fn number(&self, node: &[u8]) -> Result<usize, String> {
        let first = self.options.first;
        let below = self.options.nodes.unwrap_or(i64::MAX as usize);
        let found = number::<usize>(node).and_then(|node| node.checked_sub(first)).filter(|&node| node < below);
        found.ok_or_else(|| {
            let end = if below == i64::MAX as usize { "2^63".into() } else { first.saturating_add(below).to_string() };
            format!(
                "a node must be a whole number in [{first}, {end}) (with_names takes others), got {:?}",
                shown(node)
            )
        })
    }

    fn node(&mut self, node: &[u8]) -> Result<usize, String> {
        if !self.options.names {
            return self.number(node);
        }
        if let Some(&number) = self.numbers.get(node) {
            return Ok(number);
        }
        let number = self.numbers.len();
        if self.options.nodes.is_some_and(|nodes| number >= nodes) {
            return Err(format!("there must be at most {number} nodes, got another one: {:?}", shown(node)));
        }
        let name = std::str::from_utf8(node).map_err(|_| "a name must be UTF-8 text, got other bytes".to_string())?;
        self.out.names.push(name.to_string());
        self.numbers.insert(node.to_vec(), number);
        Ok(number)
    }

    fn push(&mut self, line: &[u8]) -> Result<(), String> {
        self.allowed.check_elements(self.out.edges.len() + 1)?;
        let fields = Fields { rest: Some(line), separator: self.separator };
        let (mut ends, mut weight, mut count) = ([0; 2], None, 0);
        for field in fields {
            if count < 2 {
                ends[count] = self.node(&field)?;
            }
            if Some(count) == self.weights {
                let found = number::<f64>(&field);
                weight = Some(found.ok_or_else(|| format!("a weight must be a number, got {:?}", shown(&field)))?);
            }
            count += 1;
        }
        if count < 2 {
            return Err(format!("a line must have two nodes, got {:?}", shown(line)));
        }
        if count != self.fields {
            return Err(format!("a line must have {} fields as the first one has, got {count}", self.fields));
        }
        if let Some(weights) = &mut self.out.weights {
            weights.push(weight.ok_or_else(|| format!("a line must have a weight, got {:?}", shown(line)))?);
        }
        self.out.edges.push((ends[0], ends[1]));
        Ok(())
    }
}

fn number<T: std::str::FromStr>(field: &[u8]) -> Option<T> {
    std::str::from_utf8(field).ok().and_then(|text| text.parse().ok())
}

/// The fields of a line, without the spaces around them and without quotes.
struct Fields<'a> {
    rest: Option<&'a [u8]>,
    separator: Separator,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Cow<'a, [u8]>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut rest = self.rest?;
        // A tab may be the separator itself.
        while let Some((&first, more)) = rest.split_first()
            && (first == b' ' || self.separator == Separator::Spaces && first.is_ascii_whitespace())
        {
            rest = more;
        }
        let ends = |byte: &u8| match self.separator {
            Separator::Spaces => byte.is_ascii_whitespace(),
            Separator::Byte(separator) => *byte == separator,
        };
        if rest.first() == Some(&b'"')
            && let Some((text, after)) = quoted(&rest[1..])
        {
            let end = after.iter().position(ends);
            self.rest = end.map(|end| &after[end + 1..]);
            self.skip_end();
            return Some(text);
        }
        let end = rest.iter().position(ends);
        self.rest = end.map(|end| &rest[end + 1..]);
        self.skip_end();
        Some(Cow::Borrowed(rest[..end.unwrap_or(rest.len())].trim_ascii_end()))
    }
}

impl Fields<'_> {
    /// Spaces at the end of a line are no field.
    fn skip_end(&mut self) {
        if self.separator == Separator::Spaces && self.rest.is_some_and(|rest| rest.trim_ascii().is_empty()) {
            self.rest = None;
        }
    }
}

/// The text up to the closing quote, and what follows it. Two quotes stand for one.
fn quoted(rest: &[u8]) -> Option<(Cow<'_, [u8]>, &[u8])> {
    let end = rest.iter().position(|&byte| byte == b'"')?;
    if rest.get(end + 1) != Some(&b'"') {
        return Some((Cow::Borrowed(&rest[..end]), &rest[end + 1..]));
    }
    let mut text = Vec::new();
    let mut rest = rest;
    loop {
        let end = rest.iter().position(|&byte| byte == b'"')?;
        text.extend(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix(b"\"") {
            Some(more) => {
                text.push(b'"');
                rest = more;
            }
            None => return Some((Cow::Owned(text), rest)),
        }
    }
}

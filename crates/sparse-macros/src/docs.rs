//! The documentation of both variants, made from the documentation of one.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Lit, Meta, Token};

/// A line of documentation.
struct Line {
    tokens: TokenStream,
    /// `None` for an expression that only the compiler can evaluate.
    text: Option<String>,
}

impl Line {
    fn new(text: &str) -> Self {
        Self { tokens: quote!(#[doc = #text]), text: Some(text.into()) }
    }

    fn is(&self, holds: impl Fn(&str) -> bool) -> bool {
        self.text.as_deref().is_some_and(|text| holds(text.trim()))
    }

    fn is_blank(&self) -> bool {
        self.is(str::is_empty)
    }
}

/// The documentation of a pair of variants.
pub struct Docs {
    lines: Vec<Line>,
}

impl Docs {
    /// The documentation lines among the attributes of an item.
    pub fn of(attributes: &[Attribute]) -> Self {
        let mut lines = vec![];
        for attribute in attributes {
            let Some(value) = value(attribute) else { continue };
            match evaluate(value) {
                Some(text) => lines.extend(text.split('\n').map(Line::new)),
                None => lines.push(Line { tokens: quote!(#attribute), text: None }),
            }
        }
        Self { lines }
    }

    /// Whether the documentation has a section on errors.
    pub fn have_errors(&self) -> bool {
        self.lines.iter().any(|line| line.is(is_errors))
    }

    /// The documentation of the panicking variant: the whole text, in which other functions get their panicking names.
    pub fn panicking(&self) -> TokenStream {
        let mut in_code = false;
        let lines = self.lines.iter().map(|line| {
            in_code ^= line.is(is_fence);
            match &line.text {
                _ if line.is(is_errors) => Line::new(" # Panics").tokens,
                Some(text) if !in_code => Line::new(&text.replace("`try_", "`").replace("::try_", "::")).tokens,
                _ => line.tokens.clone(),
            }
        });
        quote!(#(#lines)*)
    }

    /// The documentation of the variant that returns an error: without examples and the sentence that introduces them,
    /// with `link` to the other variant after the first paragraph.
    pub fn fallible(&self, link: &str) -> TokenStream {
        let mut kept: Vec<&Line> = vec![];
        let mut in_code = false;
        for line in &self.lines {
            let fence = line.is(is_fence);
            if fence && !in_code {
                drop_lead(&mut kept);
            }
            let after_code = kept.last().is_none_or(|last| last.is_blank()) && line.is_blank();
            if !fence && !in_code && !after_code {
                kept.push(line);
            }
            in_code ^= fence;
        }
        let first = kept.iter().position(|line| line.is_blank()).unwrap_or(kept.len());
        let (summary, rest) = kept.split_at(first);
        let added = [Line::new(""), Line::new(link)];
        let lines = summary.iter().copied().chain(&added).chain(rest.iter().copied()).map(|line| &line.tokens);
        quote!(#(#lines)*)
    }
}

/// Drops the last paragraph if it introduces the code after it.
fn drop_lead(lines: &mut Vec<&Line>) {
    let end = lines.iter().rposition(|line| !line.is_blank()).map_or(0, |last| last + 1);
    let start = lines[..end].iter().rposition(|line| line.is_blank()).map_or(0, |blank| blank + 1);
    // The first paragraph always stays.
    if start > 0 && lines[start..end].last().is_some_and(|line| line.is(|text| text.ends_with(':'))) {
        lines.truncate(start);
    }
}

fn is_fence(text: &str) -> bool {
    text.starts_with("```")
}

fn is_errors(text: &str) -> bool {
    text == "# Errors"
}

fn value(attribute: &Attribute) -> Option<&Expr> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => Some(&pair.value),
        _ => None,
    }
}

/// The text of a literal, or of `concat!` and `stringify!` of literals, which `macro_rules!` macros produce.
fn evaluate(value: &Expr) -> Option<String> {
    match value {
        Expr::Group(group) => evaluate(&group.expr),
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            Lit::Bool(value) => Some(value.value.to_string()),
            Lit::Int(value) => Some(value.base10_digits().into()),
            _ => None,
        },
        Expr::Macro(call) if call.mac.path.is_ident("concat") => {
            let parts = Punctuated::<Expr, Token![,]>::parse_terminated.parse2(call.mac.tokens.clone()).ok()?;
            parts.iter().map(evaluate).collect()
        }
        Expr::Macro(call) if call.mac.path.is_ident("stringify") => Some(call.mac.tokens.to_string()),
        _ => None,
    }
}

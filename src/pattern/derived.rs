//! What is computed from a pattern once and kept with it.

use super::cut::{Cut, Taken};
use super::lines::Lines;
use super::{Pattern, index_tensor};
use crate::kernel::{self, Compressed};
use crate::ops::blocks::held;
use crate::rows::RowMap;
use crate::tensor::Kind;
use burn::tensor::{DType, Int, Tensor};
use sparse_burn::{BinaryOp, MergeRule};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// Things of each kind kept with a pattern, those used last. A training loop needs one or two, or as many as it has fixed
/// ranges; others are found again at the price of a merge.
const KEPT: usize = 64;

/// How many of them are kept whatever their size. More are only while all together hold no more than so many copies of the
/// pattern.
const COPIES: usize = 8;

/// Elements, and rows that are compressed, that are too few to count.
const FEW: usize = 1 << 16;

/// Parts of one selection that are kept: each is a pattern, however few elements it has.
const KEPT_PARTS: usize = 1024;

/// How long a chain of patterns may be of which each is kept with the one that it was made of. A state that a loop
/// replaces makes a pattern of the last one in every step: all would live as long as the first, and dropping it, which
/// drops one inside the other, would overflow the stack.
const DEEPEST: u32 = 256;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A number that no other pattern, or index, of the process has.
pub(crate) fn identity() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Caches of one pattern.
#[derive(Debug)]
pub struct Derived<P> {
    id: u64,
    depth: AtomicU32,
    axes: Vec<OnceLock<RowMap>>,
    dense: OnceLock<RowMap>,
    merged: Kept<(u64, MergeRule, Merged<P>)>,
    located: Kept<(u64, RowMap)>,
    joined: Kept<Joined<P>>,
    permuted: Kept<Permuted<P>>,
    products: Kept<(u64, Product<P>)>,
    turned: Kept<Turned<P>>,
    lines: Kept<Along<P>>,
    selected: Kept<Selected<P>>,
}

/// Things of one kind with their sizes; the one used last stands last.
#[derive(Debug)]
struct Kept<T>(Mutex<Vec<(usize, T)>>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> Kept<T> {
    fn lock(&self) -> MutexGuard<'_, Vec<(usize, T)>> {
        self.0.lock().expect("a cache is never poisoned")
    }

    fn find(&self, is: impl Fn(&T) -> bool) -> Option<T>
    where
        T: Clone,
    {
        let mut kept = self.lock();
        let at = kept.iter().position(|(_, entry)| is(entry))?;
        kept[at..].rotate_left(1);
        kept.last().map(|(_, entry)| entry.clone())
    }

    /// Keeps what has this size with `pattern`.
    fn keep<P: Pattern>(&self, pattern: &P, size: usize, entry: T) {
        let room = held(pattern).saturating_mul(COPIES).max(FEW);
        let mut kept = self.lock();
        kept.push((size, entry));
        let mut all = 0usize;
        let fits = kept.iter().rev().take(KEPT).enumerate().take_while(|(count, (size, _))| {
            all = all.saturating_add(*size);
            *count < COPIES || all <= room
        });
        let old = kept.len() - fits.count();
        kept.drain(..old);
    }
}

/// The pattern of a product of two sparse matrices, and its compressed rows.
pub(crate) type Product<P> = (P, Compressed);

/// What an operation that looks at patterns only makes of one. (Other patterns are named by their identity.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// Elements at or below a diagonal.
    Lower(i64),
    /// Elements at or above a diagonal.
    Upper(i64),
    /// Elements that another pattern does not have.
    Without(u64),
    /// The main diagonal itself.
    Diagonal,
    /// Its stored elements, as a column.
    DiagonalLine,
    /// Elements off the main diagonal.
    OffDiagonal,
    /// All elements and those of the main diagonal.
    WithDiagonal,
    /// The Kronecker product with another pattern.
    Kron(u64),
    /// The order reversed along the dims marked.
    Flipped(Vec<bool>),
    /// Another shape of as many elements.
    Shaped(Vec<usize>),
    /// Copies one after the other along an axis.
    Repeated { axis: usize, times: usize },
}

type Turned<P> = (Turn, P, Vec<RowMap>);

/// Which elements of a pattern make another one, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selection {
    /// Those at the positions that every dim keeps.
    Cut(Vec<Cut>),
    /// Parts of one size along an axis.
    Parts { axis: usize, size: usize },
    /// The slices along an axis that an index names; the index by its identity.
    Slices { axis: usize, index: u64 },
}

/// A part of a pattern, and which rows of the values are its.
pub(crate) type Part<P> = (P, Taken);

type Selected<P> = (Selection, Arc<Vec<Part<P>>>);

/// Lines by the axes they run along.
type Along<P> = (Vec<bool>, Arc<Lines<P>>);

/// A pattern with its dims in another order, and where its rows come from.
type Permuted<P> = (Vec<usize>, P, Option<RowMap>);

/// The pattern with its dims reordered, and where its rows come from (`None`: they stay). Kept with the pattern, so that a
/// transpose is one pattern however often it is taken.
pub(crate) fn permuted<P: Pattern>(pattern: &P, axes: &[usize]) -> (P, Option<RowMap>) {
    let kept = &pattern.derived().permuted;
    if let Some((_, made, map)) = kept.find(|(other, ..)| other == axes) {
        return (made, map);
    }
    let (made, map) = pattern.permute(axes);
    if adopts(pattern, &made) {
        kept.keep(pattern, held(&made), (axes.to_vec(), made.clone(), map.clone()));
    }
    (made, map)
}

/// A pattern made of several, by their identities and the axis; the index map where one was asked for.
#[derive(Clone, Debug)]
struct Joined<P> {
    parts: Vec<u64>,
    axis: usize,
    pattern: P,
    map: Option<Option<RowMap>>,
}

impl<P> Derived<P> {
    pub(crate) fn new(dims: usize) -> Self {
        Self {
            id: identity(),
            depth: AtomicU32::new(0),
            axes: (0..dims).map(|_| OnceLock::new()).collect(),
            dense: OnceLock::new(),
            merged: Kept::default(),
            located: Kept::default(),
            joined: Kept::default(),
            permuted: Kept::default(),
            products: Kept::default(),
            turned: Kept::default(),
            lines: Kept::default(),
            selected: Kept::default(),
        }
    }

    /// What names the pattern in the caches of others.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }
}

/// What `turn` makes of a pattern: the new one, and index maps into the rows it comes from. Kept with the pattern.
pub(crate) fn turned<P: Pattern, const N: usize>(
    pattern: &P,
    turn: Turn,
    make: impl FnOnce() -> (P, [RowMap; N]),
) -> (P, [RowMap; N]) {
    let Ok(made) = try_turned(pattern, turn, || Ok::<_, Infallible>(make()));
    made
}

/// [`turned`], where it may fail.
pub(crate) fn try_turned<P: Pattern, const N: usize, E>(
    pattern: &P,
    turn: Turn,
    make: impl FnOnce() -> Result<(P, [RowMap; N]), E>,
) -> Result<(P, [RowMap; N]), E> {
    let kept = &pattern.derived().turned;
    if let Some((_, made, maps)) = kept.find(|(other, ..)| *other == turn) {
        return Ok((made, maps.try_into().expect("a turn has a fixed number of maps")));
    }
    let (made, maps) = make()?;
    if adopts(pattern, &made) {
        kept.keep(pattern, held(&made), (turn, made.clone(), maps.to_vec()));
    }
    Ok((made, maps))
}

/// The part, or parts, of a pattern that `selection` names. Kept with the pattern.
pub(crate) fn selected<P: Pattern>(
    pattern: &P,
    selection: Selection,
    make: impl FnOnce() -> Vec<Part<P>>,
) -> Arc<Vec<Part<P>>> {
    let kept = &pattern.derived().selected;
    if let Some((_, parts)) = kept.find(|(other, _)| *other == selection) {
        return parts;
    }
    let parts = Arc::new(make());
    // All are asked, so that each knows its depth.
    if parts.len() <= KEPT_PARTS && parts.iter().filter(|(part, _)| !adopts(pattern, part)).count() == 0 {
        let size = parts.iter().map(|(part, _)| held(part)).sum();
        kept.keep(pattern, size, (selection, parts.clone()));
    }
    parts
}

/// Whether a pattern may keep one that was made of it: not itself, and not at the end of a long chain.
fn adopts<P: Pattern>(pattern: &P, made: &P) -> bool {
    let depth = pattern.derived().depth.load(Ordering::Relaxed).saturating_add(1);
    if made.is_same(pattern) || depth > DEEPEST {
        return false;
    }
    deepen(pattern, made);
    true
}

/// Notes that a pattern keeps `made`.
pub(super) fn deepen<P: Pattern>(pattern: &P, made: &P) {
    let depth = pattern.derived().depth.load(Ordering::Relaxed).saturating_add(1);
    made.derived().depth.fetch_max(depth, Ordering::Relaxed);
}

/// A pattern made of two, with the index maps from either. (A pass that needs no maps makes none.)
#[derive(Clone, Debug)]
pub(crate) struct Merged<P> {
    pub(crate) pattern: P,
    maps: Arc<OnceLock<[RowMap; 2]>>,
}

impl<P: Pattern> Merged<P> {
    fn maps(&self, a: &P, b: &P) -> [RowMap; 2] {
        self.maps.get_or_init(|| [locate(&self.pattern, a), locate(&self.pattern, b)]).clone()
    }
}

/// The union or intersection of two coalesced patterns of one shape. Kept with `a`, by the identity of `b`.
pub(crate) fn merged<P: Pattern>(rule: MergeRule, a: &P, b: &P) -> (P, [RowMap; 2]) {
    if let Some(merged) = known_merge(rule, a, b) {
        let maps = merged.maps(a, b);
        return (merged.pattern, maps);
    }
    let (left, right) = common_dtype(a, b);
    let (arrays, map_a, map_b) = kernel::merge(rule, &left, &right);
    let pattern = P::from_arrays(arrays, a.shape(), true);
    let maps = [RowMap::new(map_a, a.nnz()), RowMap::new(map_b, b.nnz())];
    keep_merged(rule, a, b, Merged { pattern: pattern.clone(), maps: Arc::new(maps.clone().into()) });
    (pattern, maps)
}

fn known_merge<P: Pattern>(rule: MergeRule, a: &P, b: &P) -> Option<Merged<P>> {
    let id = b.derived().id;
    a.derived().merged.find(|(other, kind, _)| *other == id && *kind == rule).map(|(.., merged)| merged)
}

fn keep_merged<P: Pattern>(rule: MergeRule, a: &P, b: &P, merged: Merged<P>) {
    if adopts(a, &merged.pattern) {
        a.derived().merged.keep(a, held(&merged.pattern), (b.derived().id, rule, merged));
    }
}

/// The union of two coalesced patterns and an operation on it in one pass, where the maps are not at hand already. The
/// pattern is kept as [`merged`] does.
pub(crate) fn union_zip<P: Pattern, K: Kind>(
    op: BinaryOp,
    (a, values_a, fill_a): (&P, &Tensor<2, K>, &Tensor<2, K>),
    (b, values_b, fill_b): (&P, &Tensor<2, K>, &Tensor<2, K>),
) -> Option<(P, Tensor<2, K>)> {
    let known = known_merge(MergeRule::Union, a, b);
    if known.as_ref().is_some_and(|merged| merged.maps.get().is_some()) {
        return None;
    }
    let (left, right) = common_dtype(a, b);
    let (arrays, values) = kernel::union_zip(op, [&left, &right], [values_a, values_b], [fill_a, fill_b]);
    if let Some(merged) = known {
        return Some((merged.pattern, values));
    }
    let pattern = P::from_arrays(arrays, a.shape(), true);
    keep_merged(MergeRule::Union, a, b, Merged { pattern: pattern.clone(), maps: Arc::default() });
    Some((pattern, values))
}

/// The pattern of `a x b`, if it is known.
pub(crate) fn known_product<P: Pattern>(a: &P, b: &P) -> Option<Product<P>> {
    let id = b.derived().id;
    a.derived().products.find(|(other, _)| *other == id).map(|(_, product)| product)
}

/// Keeps the pattern of `a x b` with `a`.
pub(crate) fn keep_product<P: Pattern>(a: &P, b: &P, product: Product<P>) -> Product<P> {
    if adopts(a, &product.0) {
        a.derived().products.keep(a, held(&product.0), (b.derived().id, product.clone()));
    }
    product
}

/// The pattern of several along an axis, and where its rows come from in the concatenation of theirs (`None`: they
/// stay). Kept with the first.
pub(crate) fn joined<P: Pattern>(
    parts: &[P],
    axis: usize,
    make: impl FnOnce() -> (P, Option<RowMap>),
) -> (P, Option<RowMap>) {
    let kept = &parts[0].derived().joined;
    let key = ids(parts);
    let found = kept.find(|entry| entry.axis == axis && entry.parts == key);
    if let Some(Joined { pattern, map: Some(map), .. }) = found {
        return (pattern, map);
    }
    let (pattern, map) = make();
    // A pattern that is known already keeps its identity, and what was derived from it.
    let pattern = found.map_or(pattern, |entry| entry.pattern);
    kept.lock().retain(|(_, entry)| entry.axis != axis || entry.parts != key);
    if adopts(&parts[0], &pattern) {
        let entry = Joined { parts: key, axis, pattern: pattern.clone(), map: Some(map.clone()) };
        kept.keep(&parts[0], held(&pattern), entry);
    }
    (pattern, map)
}

/// A joined pattern that was made without a map: the one that is kept for these parts, if any, else `pattern`.
pub(crate) fn keep_joined<P: Pattern>(parts: &[P], axis: usize, pattern: P) -> P {
    let kept = &parts[0].derived().joined;
    let key = ids(parts);
    if let Some(entry) = kept.find(|entry| entry.axis == axis && entry.parts == key) {
        return entry.pattern;
    }
    if adopts(&parts[0], &pattern) {
        let entry = Joined { parts: key, axis, pattern: pattern.clone(), map: None };
        kept.keep(&parts[0], held(&pattern), entry);
    }
    pattern
}

fn ids<P: Pattern>(parts: &[P]) -> Vec<u64> {
    parts.iter().map(|part| part.derived().id).collect()
}

/// For every element of `a`, where it stands in `b`. Kept with `a`.
pub(crate) fn located<P: Pattern>(a: &P, b: &P) -> RowMap {
    let (id, kept) = (b.derived().id, &a.derived().located);
    if let Some((_, map)) = kept.find(|(other, _)| *other == id) {
        return map;
    }
    let map = locate(a, b);
    kept.keep(a, a.nnz(), (id, map.clone()));
    map
}

fn locate<P: Pattern>(a: &P, b: &P) -> RowMap {
    let (left, right) = common_dtype(a, b);
    RowMap::new(kernel::locate(&left, &right), b.nnz())
}

/// The stored elements by their coordinates off the `axes` marked. Kept with the pattern.
pub(crate) fn lines<P: Pattern>(pattern: &P, axes: &[bool]) -> Arc<Lines<P>> {
    let kept = &pattern.derived().lines;
    if let Some((_, lines)) = kept.find(|(other, _)| other == axes) {
        return lines;
    }
    let lines = Arc::new(Lines::new(pattern, axes));
    if adopts(pattern, &lines.pattern) {
        kept.keep(pattern, held(&lines.pattern), (axes.to_vec(), lines.clone()));
    }
    lines
}

/// Both patterns' arrays in one index dtype.
fn common_dtype<P: Pattern>(a: &P, b: &P) -> (kernel::Arrays, kernel::Arrays) {
    // A union may have as many elements as both.
    let fits = sparse_burn::index_dtype_for(a.nnz().saturating_add(b.nnz())) == DType::I32;
    let narrow = fits && a.index_dtype() == DType::I32 && b.index_dtype() == DType::I32;
    let dtype = if narrow { DType::I32 } else { DType::I64 };
    (kernel::cast_arrays(a.arrays(), dtype), kernel::cast_arrays(b.arrays(), dtype))
}

/// The map that reads a vector along `axis` at every stored element.
pub(crate) fn axis_map<P: Pattern>(pattern: &P, axis: usize) -> RowMap {
    let make = || {
        let ids = pattern.coordinates().clone().narrow(0, axis, 1).reshape([pattern.nnz() as i64]);
        RowMap::new(ids, pattern.shape()[axis])
    };
    if pattern.nnz() == 0 {
        let none = Tensor::empty([0], (&pattern.device(), pattern.index_dtype()));
        return RowMap::new(none, pattern.shape()[axis]);
    }
    pattern.derived().axes[axis].get_or_init(make).clone()
}

/// The map that reads a dense tensor (its sparse dims flattened) at every stored element.
pub(crate) fn dense_map<P: Pattern>(pattern: &P) -> RowMap {
    let make = || {
        let rows: usize = pattern.shape().iter().product();
        RowMap::new(flat_index(pattern, sparse_burn::index_dtype_for(rows.max(pattern.nnz()))), rows)
    };
    pattern.derived().dense.get_or_init(make).clone()
}

/// The row-major position of every stored element among the sparse dims.
pub(crate) fn flat_index<P: Pattern>(pattern: &P, dtype: DType) -> Tensor<1, Int> {
    let nnz = pattern.nnz();
    let mut at = Tensor::<1, Int>::zeros([nnz], (&pattern.device(), dtype));
    if nnz == 0 {
        return at;
    }
    let coordinates = index_tensor(pattern.coordinates().clone(), dtype);
    for (dim, &size) in pattern.shape().iter().enumerate() {
        at = at.mul_scalar(size as i64) + coordinates.clone().narrow(0, dim, 1).reshape([nnz as i64]);
    }
    at
}

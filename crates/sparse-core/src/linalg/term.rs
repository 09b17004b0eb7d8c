//! What a product of matrices makes of two elements that meet: their product, or in a tropical one their sum.

use crate::Element;

/// What takes the place of the product of two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// The product itself.
    Product,
    /// The sum, as in the tropical semirings min-plus and max-plus.
    Sum,
}

/// A [`Term`] as a type, so that the loops of gradients have no branch.
pub(super) trait Join<T: Element>: Copy + Send + Sync {
    /// The term.
    fn term(x: T::Acc, y: T::Acc) -> T::Acc;
    /// A gradient of the term times its slope in an operand, where `other` is the other one.
    fn slope(other: T::Acc, grad: T::Acc) -> T::Acc;
}

/// [`Term::Product`].
#[derive(Clone, Copy)]
pub(super) struct Product;

/// [`Term::Sum`].
#[derive(Clone, Copy)]
pub(super) struct Sum;

impl<T: Element> Join<T> for Product {
    #[inline(always)]
    fn term(x: T::Acc, y: T::Acc) -> T::Acc {
        T::mul(x, y)
    }
    #[inline(always)]
    fn slope(other: T::Acc, grad: T::Acc) -> T::Acc {
        T::mul(other, grad)
    }
}

impl<T: Element> Join<T> for Sum {
    #[inline(always)]
    fn term(x: T::Acc, y: T::Acc) -> T::Acc {
        T::add(x, y)
    }
    #[inline(always)]
    fn slope(_: T::Acc, grad: T::Acc) -> T::Acc {
        grad
    }
}

/// Whether a term, rounded like the stored result, is equal to the result. NaN is equal to itself.
#[inline(always)]
#[allow(clippy::eq_op)]
pub(super) fn is_result<T: Element>(term: T::Acc, out: T) -> bool {
    let (term, out) = (T::round(term), out.widen());
    (term == out) | ((term != term) & (out != out))
}

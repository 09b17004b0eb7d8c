//! Slices and vectors whose element type is known at run time only.

use crate::reduce::prefetch;
use crate::{Element, Index, Plain};
use core::ops::Range;
use half::{bf16, f16};
use std::borrow::Cow;

macro_rules! families {
    ($(#[$doc:meta])* $trait:ident: $bound:path, $slice:ident $of:ident, $vec:ident $erase:ident, [$($variant:ident $t:ty),*]) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $slice<'a> {
            $(#[doc = concat!("Of `", stringify!($t), "`.")] $variant(&'a [$t]),)*
        }

        #[doc = concat!("Owned [`", stringify!($slice), "`].")]
        #[derive(Clone, Debug, PartialEq)]
        pub enum $vec {
            $(#[doc = concat!("Of `", stringify!($t), "`.")] $variant(Vec<$t>),)*
        }

        impl $slice<'_> {
            /// Number of entries.
            pub fn len(&self) -> usize {
                match self { $(Self::$variant(x) => x.len(),)* }
            }
            /// Whether there are none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }

        impl $vec {
            /// Number of entries.
            pub fn len(&self) -> usize {
                self.as_slice().len()
            }
            /// Whether there are none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
            /// The entries.
            pub fn as_slice(&self) -> $slice<'_> {
                match self { $(Self::$variant(x) => $slice::$variant(x),)* }
            }
        }

        #[doc = concat!("A type that [`", stringify!($slice), "`] can hold.")]
        pub(super) trait $trait: $bound {
            /// The entries, which must be of this type.
            fn $of(slice: $slice<'_>) -> &[Self];
            /// The vector without its type.
            fn $erase(list: Vec<Self>) -> $vec;
        }

        $(impl $trait for $t {
            fn $of(slice: $slice<'_>) -> &[Self] {
                match slice {
                    $slice::$variant(x) => x,
                    other => panic!("a kernel's arguments must agree in type, got {} and {other:?}", stringify!($t)),
                }
            }
            fn $erase(list: Vec<Self>) -> $vec {
                $vec::$variant(list)
            }
        }

        impl<'a> From<&'a [$t]> for $slice<'a> {
            fn from(slice: &'a [$t]) -> Self {
                Self::$variant(slice)
            }
        }

        impl From<Vec<$t>> for $vec {
            fn from(list: Vec<$t>) -> Self {
                Self::$variant(list)
            }
        })*
    };
}

families! {
    /// Elements that kernels compute with. Bool travels as `u8` of 0 and 1.
    AnyElement: Element, Elements elements, ElementVec element_vec,
    [F16 f16, Bf16 bf16, F32 f32, F64 f64, I32 i32, I64 i64, U8 u8]
}

families! {
    /// Indices.
    AnyIndex: Index, Ids ids, IdVec id_vec, [I32 i32, I64 i64]
}

impl<'a> Ids<'a> {
    /// Some of the entries.
    pub(crate) fn slice(self, range: Range<usize>) -> Self {
        match self {
            Self::I32(ids) => Self::I32(&ids[range]),
            Self::I64(ids) => Self::I64(&ids[range]),
        }
    }

    /// One entry. Loops match the type once instead.
    pub(crate) fn get(self, k: usize) -> i64 {
        match self {
            Self::I32(ids) => ids[k].into(),
            Self::I64(ids) => ids[k],
        }
    }

    /// Asks for an entry, if it exists, to be brought into the cache.
    pub(crate) fn prefetch(self, k: usize) {
        match self {
            Self::I32(ids) => prefetch(ids, k),
            Self::I64(ids) => prefetch(ids, k),
        }
    }

    /// Calls `f` with the position that each entry names along an axis of `len`: from the end where it is negative.
    pub(crate) fn positions(self, len: usize, f: impl FnMut(usize)) {
        fn each<I: Index>(ids: &[I], len: usize, f: impl FnMut(usize)) {
            let from_end = |j: i64| if j < 0 { j.wrapping_add(len as i64) } else { j };
            ids.iter().map(|id| from_end(id.to_i64()) as usize).for_each(f);
        }
        match self {
            Self::I32(ids) => each(ids, len, f),
            Self::I64(ids) => each(ids, len, f),
        }
    }

    /// The entries as i32, which hold them.
    pub(crate) fn narrow(self) -> Cow<'a, [i32]> {
        match self {
            Self::I32(ids) => Cow::Borrowed(ids),
            Self::I64(ids) => Cow::Owned(ids.iter().map(|&id| id as i32).collect()),
        }
    }
}

families! {
    /// Elements that kernels only move: their size is all that counts.
    AnyBits: Plain, Bits bits, BitVec bit_vec, [B8 u8, B16 u16, B32 u32, B64 u64]
}

/// [`Elements`] that are written.
#[derive(Debug)]
pub enum ElementsMut<'a> {
    /// Of `f16`.
    F16(&'a mut [f16]),
    /// Of `bf16`.
    Bf16(&'a mut [bf16]),
    /// Of `f32`.
    F32(&'a mut [f32]),
    /// Of `f64`.
    F64(&'a mut [f64]),
    /// Of `i32`.
    I32(&'a mut [i32]),
    /// Of `i64`.
    I64(&'a mut [i64]),
    /// Of `u8`.
    U8(&'a mut [u8]),
}

/// Runs `$body` with `$I` bound to the type of the indices.
macro_rules! with_ids {
    ($ids:expr, $I:ident => $body:expr) => {
        match $ids {
            Ids::I32(_) => {
                type $I = i32;
                $body
            }
            Ids::I64(_) => {
                type $I = i64;
                $body
            }
        }
    };
}

/// Runs `$body` with `$T` bound to the type of the elements.
macro_rules! with_elements {
    ($elements:expr, $T:ident => $body:expr) => {
        match $elements {
            Elements::I32(_) => {
                type $T = i32;
                $body
            }
            Elements::I64(_) => {
                type $T = i64;
                $body
            }
            Elements::U8(_) => {
                type $T = u8;
                $body
            }
            floats => $crate::dynamic::slices::with_floats!(floats, $T => $body),
        }
    };
}

/// Runs `$body` with `$T` bound to the type of the elements, which are floats.
macro_rules! with_floats {
    ($elements:expr, $T:ident => $body:expr) => {
        match $elements {
            Elements::F16(_) => {
                type $T = half::f16;
                $body
            }
            Elements::Bf16(_) => {
                type $T = half::bf16;
                $body
            }
            Elements::F32(_) => {
                type $T = f32;
                $body
            }
            Elements::F64(_) => {
                type $T = f64;
                $body
            }
            other => panic!("gradients are of floats, got {other:?}"),
        }
    };
}

/// Runs `$body` with `$T` bound to the type of the bits.
macro_rules! with_bits {
    ($bits:expr, $T:ident => $body:expr) => {
        match $bits {
            Bits::B8(_) => {
                type $T = u8;
                $body
            }
            Bits::B16(_) => {
                type $T = u16;
                $body
            }
            Bits::B32(_) => {
                type $T = u32;
                $body
            }
            Bits::B64(_) => {
                type $T = u64;
                $body
            }
        }
    };
}

pub(super) use {with_bits, with_elements, with_floats, with_ids};

//! Slices and vectors whose element type is known only at run time.
//!
//! Without the feature `f16` no kernel is compiled for f16 and bf16, which take a third of the time of the build.

pub use crate::element::Ids;
use crate::{Element, Index, Plain};
use half::{bf16, f16};

macro_rules! slices {
    ($(#[$doc:meta])* $slice:ident [$($variant:ident $t:ty),*]) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $slice<'a> {
            $(#[doc = concat!("Of `", stringify!($t), "`.")] $variant(&'a [$t]),)*
        }
    };
}

slices! {
    /// Elements that kernels compute with. Bool is stored as `u8` of 0 and 1.
    Elements [F16 f16, Bf16 bf16, F32 f32, F64 f64, I32 i32, I64 i64, U8 u8]
}

slices! {
    /// Elements that kernels only move. Only their size matters.
    Bits [B8 u8, B16 u16, B32 u32, B64 u64]
}

macro_rules! families {
    ($trait:ident: $bound:path, $slice:ident $of:ident, $vec:ident $erase:ident, [$($variant:ident $t:ty),*]) => {
        #[doc = concat!("Owned [`", stringify!($slice), "`].")]
        #[derive(Clone, Debug, PartialEq)]
        pub enum $vec {
            $(#[doc = concat!("Of `", stringify!($t), "`.")] $variant(Vec<$t>),)*
        }

        impl $slice<'_> {
            /// Number of entries.
            #[inline]
            pub fn len(&self) -> usize {
                match self { $(Self::$variant(x) => x.len(),)* }
            }
            /// Whether there are none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
            /// The type of the entries.
            pub(crate) fn type_name(&self) -> &'static str {
                match self { $(Self::$variant(_) => stringify!($t),)* }
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
        pub(crate) trait $trait: $bound {
            /// The entries, which must be of this type.
            fn $of(slice: $slice<'_>) -> &[Self];
            /// The vector without its type.
            fn $erase(list: Vec<Self>) -> $vec;
        }

        $(impl $trait for $t {
            fn $of(slice: $slice<'_>) -> &[Self] {
                match slice {
                    $slice::$variant(x) => x,
                    other => {
                        let (first, other) = (stringify!($t), other.type_name());
                        panic!("a kernel's arguments must agree in type, got {first} and {other}")
                    }
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
    AnyElement: Element, Elements elements, ElementVec element_vec,
    [F16 f16, Bf16 bf16, F32 f32, F64 f64, I32 i32, I64 i64, U8 u8]
}

families! {
    AnyIndex: Index, Ids ids, IdVec id_vec, [I32 i32, I64 i64]
}

families! {
    AnyBits: Plain, Bits bits, BitVec bit_vec, [B8 u8, B16 u16, B32 u32, B64 u64]
}

/// Row pointers and columns.
pub(crate) type Csr<'a> = (Ids<'a>, Ids<'a>);

/// Mutable [`Elements`].
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

/// Values that a kernel changes.
#[derive(Debug)]
pub enum Values<'a> {
    /// In their own memory.
    Owned(ElementsMut<'a>),
    /// In a copy, because others read them too.
    Shared(Elements<'a>),
}

impl Values<'_> {
    /// The type of the entries.
    pub(crate) fn type_name(&self) -> &'static str {
        let own = match self {
            Self::Shared(own) => *own,
            Self::Owned(ElementsMut::F16(list)) => Elements::F16(list),
            Self::Owned(ElementsMut::Bf16(list)) => Elements::Bf16(list),
            Self::Owned(ElementsMut::F32(list)) => Elements::F32(list),
            Self::Owned(ElementsMut::F64(list)) => Elements::F64(list),
            Self::Owned(ElementsMut::I32(list)) => Elements::I32(list),
            Self::Owned(ElementsMut::I64(list)) => Elements::I64(list),
            Self::Owned(ElementsMut::U8(list)) => Elements::U8(list),
        };
        own.type_name()
    }
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

/// Runs `$body` with `$T` bound to the type of the elements, which must be floats.
macro_rules! with_floats {
    ($elements:expr, $T:ident => $body:expr) => {
        match $elements {
            #[cfg(feature = "f16")]
            Elements::F16(_) => {
                type $T = half::f16;
                $body
            }
            #[cfg(feature = "f16")]
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
            other => panic!("gradients are of floats, got {}", other.type_name()),
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

/// Runs `$body` with `$T` bound to the type of `$out`, and `$slice` to its elements.
macro_rules! with_mut {
    ($out:expr, ($slice:ident: $T:ident) => $body:expr) => {
        $crate::dynamic::slices::with_mut!(@arms $out, $slice, $T, $body,
            #[cfg(feature = "f16")] F16 half::f16, #[cfg(feature = "f16")] Bf16 half::bf16,
            F32 f32, F64 f64, I32 i32, I64 i64, U8 u8)
    };
    (@arms $out:expr, $slice:ident, $T:ident, $body:expr, $($(#[$on:meta])? $variant:ident $t:ty),*) => {
        match $out {
            $($(#[$on])? ElementsMut::$variant($slice) => {
                type $T = $t;
                $body
            })*
            #[cfg(not(feature = "f16"))]
            other => panic!("no kernels for {other:?}"),
        }
    };
}

/// Runs `$body` with `$source` and `$out` bound to slices of floats: what is copied, if the values are shared, and what
/// is changed. Returns the copy.
macro_rules! with_values {
    ($values:expr, ($source:ident, $out:ident) => $body:expr) => {
        match $values {
            $crate::dynamic::slices::Values::Shared(values) => {
                $crate::dynamic::slices::with_floats!(values, T => {
                    let mut list = $crate::memory::unwritten::<T>(values.len());
                    let source = <T as $crate::dynamic::slices::AnyElement>::elements(values);
                    let ($source, $out) = (Some(source), &mut list[..]);
                    $body;
                    Some(list.into())
                })
            }
            $crate::dynamic::slices::Values::Owned(values) => {
                $crate::dynamic::slices::with_values!(@owned values, $source, $out, $body,
                    #[cfg(feature = "f16")] F16, #[cfg(feature = "f16")] Bf16, F32, F64);
                None
            }
        }
    };
    (@owned $values:ident, $source:ident, $out:ident, $body:expr, $($(#[$on:meta])? $float:ident),*) => {
        match $values {
            $($(#[$on])? $crate::dynamic::slices::ElementsMut::$float($out) => {
                let $source = None;
                $body;
            })*
            _ => panic!("values must be floats"),
        }
    };
}

pub(crate) use {with_bits, with_elements, with_floats, with_ids, with_mut, with_values};

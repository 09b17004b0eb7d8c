//! The panicking variant of a fallible function.
//!
//! Every operation of sparse-tensor that can fail is written once, as `try_x`. [`or_panic`] makes the `x` that panics.

mod docs;
mod variant;
mod waiting;

use proc_macro::TokenStream;

/// On `pub fn try_x(..) -> Result<T>`: also makes `pub fn x(..) -> T`, which panics with the text of the error.
///
/// The panic names the caller's line (`#[track_caller]`). Works on free functions and in `impl` blocks. An associated
/// function without a receiver that does not mention `Self` in its signature needs `#[or_panic(associated)]`.
///
/// The documentation is written once, on `try_x`, and needs an `# Errors` section. `x` gets a copy, where that heading
/// becomes `# Panics` and names lose their `try_`. Code examples call `x` and appear only there, so that each runs
/// once. Other attributes are copied to `x`.
///
/// ```
/// # use sparse_macros::or_panic;
/// /// Half of an even number.
/// ///
/// /// # Errors
/// ///
/// /// If it is odd.
/// #[or_panic]
/// pub fn try_half(number: u32) -> Result<u32, String> {
///     if number % 2 == 0 { Ok(number / 2) } else { Err(format!("half: the number must be even, got {number}")) }
/// }
///
/// assert_eq!(half(4), 2);
/// assert!(try_half(3).is_err());
/// ```
#[proc_macro_attribute]
pub fn or_panic(arguments: TokenStream, item: TokenStream) -> TokenStream {
    variant::expand(arguments.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// On `pub fn x(..)`: also makes `pub async fn x_async(..)` with the same result, for a function that reads the device.
///
/// The variant calls `x` by `sparse_ops::without_blocking`, so it clones its arguments. Before [`or_panic`] on `try_x`
/// it makes `try_x_async` only. An associated function without a receiver that does not mention `Self` in its signature
/// needs `#[async_variant(associated)]`.
#[proc_macro_attribute]
pub fn async_variant(arguments: TokenStream, item: TokenStream) -> TokenStream {
    waiting::expand(arguments.into(), item.into()).unwrap_or_else(syn::Error::into_compile_error).into()
}

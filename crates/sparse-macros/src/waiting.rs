//! The asynchronous variant.

use crate::variant::{Function, call, is_associated, is_in_impl, plain_signature};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::{Parse, Parser};
use syn::{Attribute, Result, Signature};

/// A function and its asynchronous variant.
pub fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let associated = is_associated("async_variant", &arguments)?;
    let function = Function::parse.parse2(item)?;
    let Function { attributes, visibility, signature, body } = &function;
    let (name, in_impl) = (&signature.ident, associated || is_in_impl(signature));
    let call = call(signature, in_impl, |argument| quote!(::core::clone::Clone::clone(&#argument)));
    let asyncness = Some(syn::parse_quote!(async));
    let variant = Signature { asyncness, ..plain_signature(signature, format_ident!("{name}_async")) };
    let link = if in_impl { format!("Self::{name}") } else { format!("fn@{name}") };
    let about = format!(
        " [`{name}`]({link}) for a program that must not wait for the device, such as a page in a browser. \
         [`without_blocking`](crate::without_blocking()) says how."
    );
    let conditions = attributes.iter().filter(|attribute: &&Attribute| attribute.path().is_ident("cfg"));
    Ok(quote! {
        #(#attributes)*
        #visibility #signature #body

        #[doc = #about]
        #(#conditions)*
        #visibility #variant {
            ::sparse_ops::without_blocking(|| #call).await
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_cloned_for_each_run() {
        let item = quote! {
            #[or_panic]
            #[cfg(unix)]
            pub fn try_x<const D: usize>(&self, mut n: Vec<[u8; D]>, other: &Self) -> Result<u8> {
                todo(n)
            }
        };
        let got = expand(TokenStream::new(), item.clone()).expect("a function that has a variant").to_string();
        let variant = quote! {
            #[cfg(unix)]
            pub async fn try_x_async<const D: usize>(&self, n: Vec<[u8; D]>, other: &Self) -> Result<u8> {
                ::sparse_ops::without_blocking(|| Self::try_x::<D>(
                    self,
                    ::core::clone::Clone::clone(&n),
                    ::core::clone::Clone::clone(&other)
                ))
                .await
            }
        };
        assert!(got.starts_with(&item.to_string()), "{got}");
        assert!(got.ends_with(&variant.to_string()), "{got}");
    }
}

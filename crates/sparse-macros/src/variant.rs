//! The panicking variant itself.

use crate::docs::Docs;
use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream, Parser};
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, FnArg, GenericArgument, GenericParam, Pat, PathArguments, Result, ReturnType, Signature, Type,
    Visibility,
};

/// A function whose body is not parsed.
pub struct Function {
    pub attributes: Vec<Attribute>,
    pub visibility: Visibility,
    pub signature: Signature,
    pub body: TokenTree,
}

impl Parse for Function {
    fn parse(input: ParseStream) -> Result<Self> {
        Ok(Self {
            attributes: input.call(Attribute::parse_outer)?,
            visibility: input.parse()?,
            signature: input.parse()?,
            body: input.parse()?,
        })
    }
}

/// Whether the arguments of an attribute say that the function is in an `impl` block.
pub fn is_associated(attribute: &str, arguments: &TokenStream) -> Result<bool> {
    match arguments.to_string().as_str() {
        "" => Ok(false),
        "associated" => Ok(true),
        _ => Err(Error::new(arguments.span(), format!("{attribute} takes no argument but `associated`"))),
    }
}

/// Both variants of a function `try_x`.
pub fn expand(arguments: TokenStream, item: TokenStream) -> Result<TokenStream> {
    let associated = is_associated("or_panic", &arguments)?;
    let function = Function::parse.parse2(item)?;
    let Function { attributes, visibility, signature, body } = &function;
    let name = variant_name(signature)?;
    let output = success(signature)?;
    let docs = Docs::of(attributes);
    if matches!(visibility, Visibility::Public(_)) && !docs.have_errors() {
        let message = format!("the documentation of `{}` must have a section `# Errors`", signature.ident);
        return Err(Error::new(signature.ident.span(), message));
    }
    let others: Vec<&Attribute> = attributes.iter().filter(|attribute| !attribute.path().is_ident("doc")).collect();
    let in_impl = associated || is_in_impl(signature);
    let link = if in_impl { format!("Self::{name}") } else { format!("fn@{name}") };
    let (panicking, fallible) =
        (docs.panicking(), docs.fallible(&format!(" This is [`{name}`]({link}) with an error in place of a panic.")));
    let call = call(signature, in_impl, |argument| argument);
    let variant = Signature { output: syn::parse_quote!(-> #output), ..plain_signature(signature, name) };
    Ok(quote! {
        #fallible
        #(#others)*
        #visibility #signature #body

        #panicking
        #(#others)*
        #[track_caller]
        #visibility #variant {
            match #call {
                ::core::result::Result::Ok(output) => output,
                // Not in a closure, because a closure loses the caller's line.
                ::core::result::Result::Err(error) => ::core::panic!("{error}"),
            }
        }
    })
}

fn variant_name(signature: &Signature) -> Result<Ident> {
    let fallible = &signature.ident;
    let qualifiers = [
        signature.constness.as_ref().map(|token| (token.span(), "const")),
        signature.asyncness.as_ref().map(|token| (token.span(), "async")),
        signature.unsafety.as_ref().map(|token| (token.span(), "unsafe")),
        signature.abi.as_ref().map(|abi| (abi.span(), "extern")),
    ];
    if let Some((span, qualifier)) = qualifiers.into_iter().flatten().next() {
        return Err(Error::new(span, format!("or_panic cannot make the variant of a function that is `{qualifier}`")));
    }
    match fallible.to_string().strip_prefix("try_") {
        Some(name) if !name.is_empty() => Ok(Ident::new(name, fallible.span())),
        _ => Err(Error::new(
            fallible.span(),
            format!("the name must be `try_` and that of the variant, got `{fallible}`"),
        )),
    }
}

/// `T` of the `Result<T>` that the function returns.
fn success(signature: &Signature) -> Result<&Type> {
    let wrong = |span| {
        let message =
            format!("`{}` must return a `Result`, whose error is what the variant panics with", signature.ident);
        Error::new(span, message)
    };
    let ReturnType::Type(_, output) = &signature.output else { return Err(wrong(signature.ident.span())) };
    let Type::Path(path) = &**output else { return Err(wrong(output.span())) };
    let last = path.path.segments.last().filter(|segment| segment.ident == "Result");
    let Some(PathArguments::AngleBracketed(arguments)) = last.map(|segment| &segment.arguments) else {
        return Err(wrong(output.span()));
    };
    match arguments.args.first() {
        Some(GenericArgument::Type(success)) => Ok(success),
        _ => Err(wrong(output.span())),
    }
}

/// Whether a signature can only be that of a function in an `impl` block.
pub fn is_in_impl(signature: &Signature) -> bool {
    signature.receiver().is_some() || mentions_self(quote!(#signature))
}

fn mentions_self(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(name) => name == "Self",
        TokenTree::Group(group) => mentions_self(group.stream()),
        _ => false,
    })
}

/// The signature with another name, where every argument has a plain name.
pub fn plain_signature(signature: &Signature, name: Ident) -> Signature {
    let mut variant = signature.clone();
    variant.ident = name;
    for (at, argument) in variant.inputs.iter_mut().enumerate() {
        match argument {
            FnArg::Receiver(receiver) if receiver.reference.is_none() => receiver.mutability = None,
            FnArg::Receiver(_) => {}
            FnArg::Typed(argument) => {
                let name = argument_name(&argument.pat, at);
                *argument.pat = syn::parse_quote!(#name);
            }
        }
    }
    variant
}

/// The name of an argument: its own, or a new one if the argument is a pattern.
fn argument_name(pattern: &Pat, at: usize) -> Ident {
    match pattern {
        Pat::Ident(own) if own.subpat.is_none() => own.ident.clone(),
        _ => format_ident!("argument_{at}"),
    }
}

/// The call of the function with the variant's arguments, each passed as `pass` says. Type and constant parameters are
/// passed explicitly, because they may not be inferable from the arguments or the output.
pub fn call(signature: &Signature, in_impl: bool, pass: impl Fn(TokenStream) -> TokenStream) -> TokenStream {
    let function = &signature.ident;
    let path = if in_impl { quote!(Self::#function) } else { quote!(#function) };
    let parameters: Vec<&Ident> = signature
        .generics
        .params
        .iter()
        .filter_map(|parameter| match parameter {
            GenericParam::Type(parameter) => Some(&parameter.ident),
            GenericParam::Const(parameter) => Some(&parameter.ident),
            GenericParam::Lifetime(_) => None,
        })
        .collect();
    let parameters = if parameters.is_empty() { quote!() } else { quote!(::<#(#parameters),*>) };
    let arguments = signature.inputs.iter().enumerate().map(|(at, argument)| match argument {
        FnArg::Receiver(receiver) => {
            let token = receiver.self_token;
            if receiver.reference.is_some() { quote!(#token) } else { pass(quote!(#token)) }
        }
        FnArg::Typed(argument) => {
            let name = argument_name(&argument.pat, at);
            pass(quote!(#name))
        }
    });
    quote!(#path #parameters(#(#arguments),*))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variants(item: TokenStream) -> String {
        expand(TokenStream::new(), item).expect("a function that has a variant").to_string()
    }

    /// Only the panicking variant.
    fn variant(item: TokenStream) -> String {
        let both = variants(item);
        both[both.rfind("# [track_caller]").expect("a variant")..].to_string()
    }

    fn same(got: &str, expected: TokenStream) {
        assert_eq!(got, expected.to_string());
    }

    fn body(call: TokenStream) -> TokenStream {
        quote! {{
            match #call {
                ::core::result::Result::Ok(output) => output,
                ::core::result::Result::Err(error) => ::core::panic!("{error}"),
            }
        }}
    }

    #[test]
    fn methods_take_self_as_they_do() {
        for receiver in [quote!(self), quote!(&self), quote!(&mut self), quote!(self: Arc<Self>)] {
            let got = variant(quote!(fn try_x(#receiver, n: usize) -> Result<u8> { todo(n) }));
            let body = body(quote!(Self::try_x(self, n)));
            same(&got, quote!(#[track_caller] fn x(#receiver, n: usize) -> u8 #body));
        }
        let got = variant(quote!(
            fn try_x(mut self) -> Result<Self> {
                todo()
            }
        ));
        let body = body(quote!(Self::try_x(self)));
        same(&got, quote!(#[track_caller] fn x(self) -> Self #body));
    }

    #[test]
    fn generics_are_passed_on_but_for_lifetimes() {
        let got = variant(quote! {
            pub(crate) fn try_x<'a, K: Kind, const D: usize>(a: &'a T<K>, f: impl Fn(K)) -> core::Result<T<D>, E>
            where
                K: Clone,
            {
                todo(a, f)
            }
        });
        let body = body(quote!(try_x::<K, D>(a, f)));
        same(
            &got,
            quote! {
                #[track_caller]
                pub(crate) fn x<'a, K: Kind, const D: usize>(a: &'a T<K>, f: impl Fn(K)) -> T<D>
                where
                    K: Clone,
                #body
            },
        );
    }

    #[test]
    fn patterns_become_names() {
        let got = variant(quote!(
            fn try_x(mut a: u8, (b, c): (u8, u8), [d]: [u8; 1]) -> Result<()> {
                todo()
            }
        ));
        let body = body(quote!(try_x(a, argument_1, argument_2)));
        same(&got, quote!(#[track_caller] fn x(a: u8, argument_1: (u8, u8), argument_2: [u8; 1]) -> () #body));
    }

    #[test]
    fn associated_functions_are_called_by_self() {
        let got = variant(quote!(
            fn try_new(values: u8) -> Result<Self> {
                todo()
            }
        ));
        assert!(got.contains("Self :: try_new (values)"), "{got}");
        let got = expand(
            quote!(associated),
            quote!(
                fn try_new(n: u8) -> Result<u8> {
                    todo()
                }
            ),
        )
        .unwrap()
        .to_string();
        assert!(got.contains("Self :: try_new (n)"), "{got}");
    }

    #[test]
    fn other_attributes_go_to_both() {
        let got = variants(quote!(
            #[cfg(unix)]
            fn try_x() -> Result<u8> {
                todo()
            }
        ));
        assert_eq!(got.matches("# [cfg (unix)]").count(), 2, "{got}");
    }

    #[test]
    fn docs_stand_once() {
        let item = quote! {
            #[doc = concat!(" What ", stringify!(x), " does.")]
            ///
            /// More, as [`try_y`](Self::try_y).
            ///
            /// For example:
            ///
            /// ```
            /// x();
            /// ```
            ///
            /// # Errors
            ///
            #[doc = ERRORS]
            pub fn try_x() -> Result<u8> {
                todo()
            }
        };
        let got = variants(item);
        let expected = quote! {
            /// What x does.
            ///
            /// This is [`x`](fn@x) with an error in place of a panic.
            ///
            /// More, as [`try_y`](Self::try_y).
            ///
            /// # Errors
            ///
            #[doc = ERRORS]
            pub fn try_x() -> Result<u8> {
                todo()
            }

            /// What x does.
            ///
            /// More, as [`y`](Self::y).
            ///
            /// For example:
            ///
            /// ```
            /// x();
            /// ```
            ///
            /// # Panics
            ///
            #[doc = ERRORS]
            #[track_caller]
        };
        // A doc comment in `quote!` is a raw string.
        let expected = expected.to_string().replace("= r\"", "= \"");
        assert!(got.starts_with(&expected), "{got}\n{expected}");
    }

    #[test]
    fn errors_say_what_to_write() {
        let trouble = |arguments: TokenStream, item| expand(arguments, item).unwrap_err().to_string();
        let none = TokenStream::new;
        assert_eq!(
            trouble(
                none(),
                quote!(
                    fn x() -> Result<u8> {}
                )
            ),
            "the name must be `try_` and that of the variant, got `x`"
        );
        let no_result = "`try_x` must return a `Result`, whose error is what the variant panics with";
        assert_eq!(
            trouble(
                none(),
                quote!(
                    fn try_x() {}
                )
            ),
            no_result
        );
        assert_eq!(
            trouble(
                none(),
                quote!(
                    fn try_x() -> Option<u8> {}
                )
            ),
            no_result
        );
        assert_eq!(
            trouble(
                none(),
                quote!(
                    fn try_x() -> Result {}
                )
            ),
            no_result
        );
        assert_eq!(
            trouble(
                none(),
                quote!(
                    async fn try_x() -> Result<u8> {}
                )
            ),
            "or_panic cannot make the variant of a function that is `async`"
        );
        assert_eq!(
            trouble(
                none(),
                quote!(
                    pub fn try_x() -> Result<u8> {}
                )
            ),
            "the documentation of `try_x` must have a section `# Errors`"
        );
        assert_eq!(
            trouble(
                quote!(loud),
                quote!(
                    fn try_x() -> Result<u8> {}
                )
            ),
            "or_panic takes no argument but `associated`"
        );
    }
}

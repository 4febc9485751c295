//! The macros of `simt`: `#[kernel]`, `shared!` and `constant!`.
//!
//! They exist because one source becomes two things. For the GPU a kernel is an exported symbol
//! with the PTX entry convention, a shared array is a `.shared` variable and a table a `.const`
//! one, and PTX wants those as text. For the host a kernel is a function plus a description of
//! its parameters, so that it can be found by name and launched with checked arguments.

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Expr, FnArg, Ident, ItemFn, LitInt, Pat, Result, Token, Type, Visibility, parse_macro_input};

/// Makes an `unsafe fn` a kernel.
///
/// On the GPU it becomes a PTX entry of the same name. On the host it stays a function, and a type
/// of the same name carries its description in an associated constant `ENTRY`
/// (`simt::launch::KernelEntry`), which refers to the compiled kernels of the crate: a static `MODULE` of type `simt::launch::Module` at the
/// crate's root. Every parameter type implements `simt::launch::KernelParam`.
///
/// `#[kernel(threads = 512, blocks = 1)]` are launch bounds: no launch has more threads in a block, and the
/// compiler may use as many registers as let that many blocks share a multiprocessor. Without them
/// a block may have up to 1024 threads. `arch = 80` is the least compute capability, 10 · major + minor, that has the
/// kernel's instructions; 75 where it says nothing. rustc has no attribute for PTX's `.maxntid` and
/// `.minnctapersm`, so all of this travels to `xtask build-ptx` as a comment in the assembly.
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let bounds = parse_macro_input!(attribute as Bounds);
    let function = parse_macro_input!(item as ItemFn);
    expand_kernel(&function, &bounds).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// `threads = N, blocks = N, arch = N`, each at most once.
struct Bounds {
    threads: u32,
    blocks: u32,
    arch: u32,
}

impl Parse for Bounds {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut bounds = Self { threads: 1024, blocks: 1, arch: 75 };
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            let value = input.parse::<LitInt>()?.base10_parse()?;
            match name.to_string().as_str() {
                "threads" => bounds.threads = value,
                "blocks" => bounds.blocks = value,
                "arch" => bounds.arch = value,
                _ => return Err(syn::Error::new_spanned(name, "a kernel's bounds are `threads`, `blocks` and `arch`")),
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(bounds)
    }
}

fn expand_kernel(function: &ItemFn, &Bounds { threads, blocks, arch }: &Bounds) -> Result<Tokens> {
    let signature = &function.sig;
    let refuse = |what: &str| Err(syn::Error::new_spanned(signature, what));
    if signature.unsafety.is_none() {
        return refuse("a kernel is an `unsafe fn`: its # Safety section says what the arguments must be");
    }
    if signature.asyncness.is_some() || signature.abi.is_some() || signature.variadic.is_some() {
        return refuse("a kernel is a plain `unsafe fn`");
    }
    if !signature.generics.params.is_empty() {
        return refuse("a kernel is one PTX entry and cannot be generic: call a generic function from it");
    }
    if !matches!(signature.output, syn::ReturnType::Default) {
        return refuse("a kernel returns nothing");
    }
    let (mut names, mut types) = (Vec::new(), Vec::new());
    for input in &signature.inputs {
        let FnArg::Typed(argument) = input else { return refuse("a kernel takes no self") };
        let Pat::Ident(name) = &*argument.pat else {
            return Err(syn::Error::new_spanned(&argument.pat, "a kernel's parameters are plain names"));
        };
        names.push(name.ident.clone());
        types.push((*argument.ty).clone());
    }
    let (attributes, visibility, name, inputs, body) =
        (&function.attrs, &function.vis, &signature.ident, &signature.inputs, &function.block);
    let description = format!("The description of the kernel [`{name}`](fn@{name}).");
    let index = 0..types.len();
    let note = format!("// simt-launch-bounds {threads} {blocks} {arch}");
    let statements = &body.stmts;
    Ok(quote! {
        // The parameters are the kernel's interface to the driver: there is no other way to pass them.
        #[cfg(target_arch = "nvptx64")]
        #(#attributes)*
        #[allow(clippy::too_many_arguments)]
        #[unsafe(no_mangle)]
        #visibility unsafe extern "ptx-kernel" fn #name(#inputs) {
            // SAFETY: a comment.
            unsafe { ::core::arch::asm!(#note, options(nomem, nostack, preserves_flags)) };
            #(#statements)*
        }

        #[cfg(not(target_arch = "nvptx64"))]
        #(#attributes)*
        #[allow(clippy::too_many_arguments)]
        #visibility unsafe fn #name(#inputs) #body

        #[cfg(not(target_arch = "nvptx64"))]
        #[doc = #description]
        #[allow(non_camel_case_types)]
        #visibility struct #name {}

        #[cfg(not(target_arch = "nvptx64"))]
        impl #name {
            /// Name, parameters and host entry of the kernel.
            pub const ENTRY: ::simt::launch::KernelEntry = ::simt::launch::KernelEntry {
                name: stringify!(#name),
                params: &[#(::simt::launch::Param {
                    name: stringify!(#names),
                    ty: <#types as ::simt::launch::KernelParam>::TYPE,
                }),*],
                max_threads: #threads,
                arch: #arch,
                file: file!(),
                line: line!(),
                module: &crate::MODULE,
                call: {
                    /// # Safety
                    /// That of the kernel, and the arguments have been checked against `params`.
                    unsafe fn call(arguments: &[::simt::launch::Arg]) {
                        // SAFETY: passed on to the caller of `call`.
                        unsafe { #name(#(<#types as ::simt::launch::KernelParam>::from_arg(&arguments[#index])),*) }
                    }
                    call
                },
            };
        }
    })
}

/// `attributes visibility static NAME: [Type; LEN];`, several of them.
struct Declaration {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    name: Ident,
    ty: Type,
    len: Expr,
    value: Option<Expr>,
}

impl Parse for Declaration {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        input.parse::<Token![static]>()?;
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        let array;
        syn::bracketed!(array in input);
        let ty = array.parse()?;
        array.parse::<Token![;]>()?;
        let len = array.parse()?;
        let value = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            Some(input.parse()?)
        } else {
            None
        };
        input.parse::<Token![;]>()?;
        Ok(Self { attributes, visibility, name, ty, len, value })
    }
}

struct Declarations(Vec<Declaration>);

impl Parse for Declarations {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut list = Vec::new();
        while !input.is_empty() {
            list.push(input.parse()?);
        }
        Ok(Self(list))
    }
}

/// Declares static shared memory: `shared! { static TILE: [u8; 36 * 36]; }`.
///
/// Each name becomes a type that implements `simt::shared::Symbol`; a kernel gets its handle with
/// `simt::shared::array::<TILE>()`. Names are PTX symbols: unique among all kernels.
#[proc_macro]
pub fn shared(input: TokenStream) -> TokenStream {
    let Declarations(list) = parse_macro_input!(input as Declarations);
    let items = list.iter().map(|declaration| {
        let Declaration { attributes, visibility, name, ty, len, value } = declaration;
        if let Some(value) = value {
            return syn::Error::new_spanned(value, "shared memory has no initial value").into_compile_error();
        }
        let variable = format!(".shared .align 16 .b8 {name}[{{bytes}}];");
        let address = format!("mov.u32 {{address}}, {name};");
        quote! {
            #[cfg(target_arch = "nvptx64")]
            ::core::arch::global_asm!(#variable, bytes = const { ::core::mem::size_of::<[#ty; #len]>() });

            #(#attributes)*
            #[allow(non_camel_case_types)]
            #visibility struct #name {}

            impl ::simt::shared::Symbol for #name {
                type Item = #ty;
                const NAME: &'static str = stringify!(#name);
                const LEN: u32 = (#len) as u32;
                #[cfg(target_arch = "nvptx64")]
                #[inline(always)]
                fn address() -> u32 {
                    let address: u32;
                    // SAFETY: reads the address of a variable declared above.
                    unsafe {
                        ::core::arch::asm!(#address, address = out(reg32) address, options(pure, nomem, nostack));
                    }
                    address
                }
            }
        }
    });
    quote!(#(#items)*).into()
}

/// Declares a table in constant memory: `constant! { static LN: [f32; 26] = TABLE; }`, `TABLE` being a
/// constant array and the length a literal.
///
/// Without values, `constant! { static SIZE: [u32; 2]; }`, it is zeros until the host sets it for a launch (see
/// `simt::launch::Constant`).
///
/// The name becomes a type that implements `simt::constant::Symbol`; a kernel reads it with
/// `simt::constant::load::<LN>(i)`. Names are PTX symbols: unique among all kernels.
#[proc_macro]
pub fn constant(input: TokenStream) -> TokenStream {
    let Declarations(list) = parse_macro_input!(input as Declarations);
    let items = list.iter().map(|declaration| {
        let Declaration { attributes, visibility, name, ty, len, value } = declaration;
        let Ok(count) = syn::parse2::<LitInt>(quote!(#len)).and_then(|n| n.base10_parse::<usize>()) else {
            return syn::Error::new_spanned(len, "the length of a constant table is a literal number")
                .into_compile_error();
        };
        let width = match quote!(#ty).to_string().as_str() {
            "f32" | "u32" | "i32" => 32,
            "f64" | "u64" | "i64" => 64,
            _ => {
                return syn::Error::new_spanned(ty, "a constant table holds 32- or 64-bit numbers")
                    .into_compile_error();
            }
        };
        let address = format!("mov.u64 {{address}}, {name};");
        let (variable, value) = match value {
            // Visible, because the driver finds it by its name.
            None => {
                let variable = format!(".visible .const .align 16 .b{width} {name}[{count}];");
                (quote!(::core::arch::global_asm!(#variable);), quote!([0 as #ty; #len]))
            }
            Some(value) => {
                let holes = (0..count).map(|i| format!("{{v{i}}}")).collect::<Vec<_>>().join(", ");
                let variable = format!(".const .align 16 .b{width} {name}[{count}] = {{{{ {holes} }}}};");
                let operand = (0..count).map(|i| format_ident!("v{i}"));
                let convert = if width == 32 { quote!(u32) } else { quote!(u64) };
                let index = 0..count;
                let variable = quote! {
                    ::core::arch::global_asm!(#variable, #(#operand = const {
                        // SAFETY: both types are plain numbers of the same width. (PTX takes any number as the
                        // integer that has its bits.)
                        unsafe { ::core::mem::transmute::<#ty, #convert>((#value)[#index]) }
                    }),*);
                };
                (variable, quote!(#value))
            }
        };
        quote! {
            #[cfg(target_arch = "nvptx64")]
            #variable

            #(#attributes)*
            #[allow(non_camel_case_types)]
            #visibility struct #name {}

            impl ::simt::constant::Symbol for #name {
                type Item = #ty;
                const NAME: &'static str = stringify!(#name);
                const VALUES: &'static [#ty] = &#value;
                #[cfg(target_arch = "nvptx64")]
                #[inline(always)]
                fn address() -> u64 {
                    let address: u64;
                    // SAFETY: reads the address of a variable declared above.
                    unsafe {
                        ::core::arch::asm!(#address, address = out(reg64) address, options(pure, nomem, nostack));
                    }
                    address
                }
            }
        }
    });
    quote!(#(#items)*).into()
}

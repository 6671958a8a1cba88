//! Header annotations that the compiler checks.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::name::{ANNOTATION, is_name};

/// A field of a tool's arguments that is mirrored into the header `Mcp-Param-<name>`. The field
/// serializes as a `T` and dereferences to one.
///
/// ```
/// use mcp_proto::header_name;
/// use mcp_proto::headers::Header;
/// use mcp_proto::types::Tool;
///
/// header_name!(pub Region = "Region");
/// header_name!(pub Priority = "Priority");
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct ExecuteSql {
///     /// Where to run the query.
///     region: Header<String, Region>,
///     #[serde(default)]
///     priority: Header<Option<u8>, Priority>,
///     query: String,
/// }
///
/// let tool = Tool::of::<ExecuteSql>("execute_sql")?;
/// let schema: serde_json::Value = tool.input_schema.decode()?;
/// assert_eq!(schema["properties"]["region"], serde_json::json!({
///     "type": "string",
///     "description": "Where to run the query.",
///     "x-mcp-header": "Region",
/// }));
/// assert_eq!(schema["required"], serde_json::json!(["region", "query"]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// An optional parameter is a `Header<Option<T>, N>` with `#[serde(default)]`; without the
/// attribute, the schema requires the parameter. The schema has the type of `T`, without `null`,
/// which most clients reject next to an `x-mcp-header`. [`Tool::of`](crate::types::Tool::of)
/// derives the same schema from an `Option<Header<T, N>>`, which needs no attribute.
///
/// [`Registry::add_tool`](crate::server::Registry::add_tool) checks what the compiler cannot. The
/// check rejects two fields with one name. It also rejects a header within the type of an element,
/// of a variant, or of a nested struct that several fields use without `#[schemars(inline)]`. The
/// same check covers `#[schemars(extend("x-mcp-header" = "Region"))]` on other fields, such as
/// enums.
///
/// Intermediaries can see headers: passwords, tokens and personal data do not belong there.
///
/// [Specification: x-mcp-header](https://modelcontextprotocol.io/specification/2026-07-28/server/tools#x-mcp-header)
pub struct Header<T, N> {
    value: T,
    name: PhantomData<fn() -> N>,
}

impl<T: HeaderValue, N: HeaderName> Header<T, N> {
    /// Checks the name again, because `HeaderName` can be implemented without the macro.
    const NAME: &'static str = {
        assert!(is_name(N::NAME), "the name of a header must be a token of RFC 9110");
        N::NAME
    };

    /// A field with this value.
    pub const fn new(value: T) -> Self {
        Self { value, name: PhantomData }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T, N> Deref for Header<T, N> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: HeaderValue, N: HeaderName> JsonSchema for Header<T, N> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Header_{}_of_{}", Self::NAME, T::Plain::schema_name()).into()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("mcp_proto::headers::Header<{}, {}>", T::Plain::schema_id(), Self::NAME).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = T::Plain::json_schema(generator);
        schema.insert(ANNOTATION.into(), Self::NAME.into());
        schema
    }
}

impl<T: Serialize, N> Serialize for Header<T, N> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>, N> Deserialize<'de> for Header<T, N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|value| Self { value, name: PhantomData })
    }
}

// These traits are not derived, because derives would also require them of `N`.

impl<T: fmt::Debug, N> fmt::Debug for Header<T, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T: Clone, N> Clone for Header<T, N> {
    fn clone(&self) -> Self {
        Self { value: self.value.clone(), name: PhantomData }
    }
}

impl<T: PartialEq, N> PartialEq for Header<T, N> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq, N> Eq for Header<T, N> {}

impl<T: Default, N> Default for Header<T, N> {
    fn default() -> Self {
        Self { value: T::default(), name: PhantomData }
    }
}

/// The name of a header; [`header_name!`](crate::header_name) implements this.
pub trait HeaderName {
    /// The part after `Mcp-Param-`, valid by [`is_name`].
    const NAME: &'static str;
}

/// Makes a type that names a header, for [`Header`]: `header_name!(pub Region = "Region");`.
///
/// A name that HTTP does not allow does not compile:
///
/// ```compile_fail
/// mcp_proto::header_name!(pub Region = "My Region");
/// ```
/// ```compile_fail
/// mcp_proto::header_name!(pub Region = "");
/// ```
/// ```
/// mcp_proto::header_name!(pub Region = "My-Region");
/// ```
#[macro_export]
macro_rules! header_name {
    ($(#[$about:meta])* $visibility:vis $name:ident = $text:literal) => {
        #[doc = ::core::concat!("Names the header `Mcp-Param-", $text, "`.")]
        $(#[$about])*
        $visibility enum $name {}

        impl $crate::headers::HeaderName for $name {
            const NAME: &'static str = $text;
        }

        // Only a free constant is evaluated even if it is unused.
        const _: () = ::core::assert!(
            $crate::headers::is_name($text),
            "the name of a header must have one or more of the characters \
             A-Z a-z 0-9 ! # $ % & ' * + - . ^ _ ` | ~"
        );
    };
}

/// Types that a [`Header`] can contain: `String`, `bool`, integers of up to 32 bits, and an
/// `Option` of one of these.
///
/// Larger integers are not all within the ±(2<sup>53</sup>−1) that the specification allows, and
/// floats are not allowed at all:
///
/// ```compile_fail
/// # use mcp_proto::headers::Header;
/// # mcp_proto::header_name!(Count = "Count");
/// fn header(value: u64) -> Header<u64, Count> { Header::new(value) }
/// ```
/// ```compile_fail
/// # use mcp_proto::headers::Header;
/// # mcp_proto::header_name!(Count = "Count");
/// fn header(value: f64) -> Header<f64, Count> { Header::new(value) }
/// ```
/// ```
/// # use mcp_proto::headers::Header;
/// # mcp_proto::header_name!(Count = "Count");
/// fn header(value: u32) -> Header<u32, Count> { Header::new(value) }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be mirrored into a header",
    note = "use a String, a bool, an integer of up to 32 bits, or an Option of one of these"
)]
pub trait HeaderValue: sealed::Sealed {
    /// The type without its `Option`.
    type Plain: JsonSchema;
}

mod sealed {
    #[expect(unnameable_types, reason = "this seals the trait")]
    pub trait Sealed {}
}

macro_rules! header_values {
    ($($of:ty),*) => {$(
        impl sealed::Sealed for $of {}
        impl sealed::Sealed for Option<$of> {}
        impl HeaderValue for $of {
            type Plain = $of;
        }
        impl HeaderValue for Option<$of> {
            type Plain = $of;
        }
    )*};
}

header_values!(String, bool, i8, i16, i32, u8, u16, u32);

//! Integers of the protocol's types, in each notation that JSON has for them.
//!
//! In: a number. Out: an integer, or the error of serde. JSON Schema calls `1024.0` and `5e3`
//! integers, and some languages write integers so.
//!
//! A number with a point or an exponent is read as `f64`, so it is exact up to 2^53.

use core::any::type_name;
use core::fmt;
use core::marker::PhantomData;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// A member that is an integer: `#[serde(deserialize_with = "integer")]`.
pub(crate) fn integer<'de, T: TryFrom<i128>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    AnyNotation::deserialize(deserializer).map(|AnyNotation(number)| number)
}

/// A member that is an integer or `null`. It also needs `default`, to be optional.
pub(crate) fn optional_integer<'de, T: TryFrom<i128>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let number = Option::<AnyNotation<T>>::deserialize(deserializer)?;
    Ok(number.map(|AnyNotation(number)| number))
}

/// The integer of a JSON text.
pub(crate) fn read_integer<T: TryFrom<i128>>(text: &[u8]) -> Option<T> {
    serde_json::from_slice(text).ok().map(|AnyNotation(number)| number)
}

struct AnyNotation<T>(T);

impl<'de, T: TryFrom<i128>> Deserialize<'de> for AnyNotation<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // `serde_json` reads any number, and calls the method of the visitor that its text needs.
        deserializer.deserialize_f64(IntegerVisitor(PhantomData)).map(Self)
    }
}

struct IntegerVisitor<T>(PhantomData<T>);

impl<T: TryFrom<i128>> IntegerVisitor<T> {
    fn in_range<E: Error>(&self, number: i128, found: Unexpected<'_>) -> Result<T, E> {
        T::try_from(number).map_err(|_| E::invalid_value(found, self))
    }
}

impl<T: TryFrom<i128>> Visitor<'_> for IntegerVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(type_name::<T>())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.in_range(number.into(), Unexpected::Unsigned(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.in_range(number.into(), Unexpected::Signed(number))
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::float_cmp,
        reason = "the comparison is whether the cast has lost anything"
    )]
    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        let found = Unexpected::Float(number);
        let whole = number as i128;
        if whole as f64 == number {
            self.in_range(whole, found)
        } else {
            Err(E::invalid_type(found, &self))
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[derive(Deserialize, PartialEq, Debug)]
    struct Members {
        #[serde(deserialize_with = "integer")]
        code: i64,
        #[serde(default, deserialize_with = "optional_integer")]
        size: Option<u64>,
    }

    #[derive(Deserialize, PartialEq, Debug)]
    struct Flat {
        #[serde(flatten)]
        members: Members,
    }

    fn with_size(text: &str) -> Option<Members> {
        let text = format!(r#"{{"code":-1,"size":{text}}}"#);
        let members: Option<Members> = serde_json::from_str(&text).ok();
        let flat: Option<Flat> = serde_json::from_str(&text).ok();
        assert_eq!(flat.map(|flat| flat.members), members, "{text}");
        members
    }

    #[test]
    fn whole_number_is_an_integer_in_each_notation() {
        for (text, number) in [
            ("1024", 1024),
            ("1024.0", 1024),
            ("5e3", 5000),
            ("1.5E+1", 15),
            ("0.0", 0),
            ("-0", 0),
            ("-0.0", 0),
            ("9007199254740993", 9_007_199_254_740_993),
            ("18446744073709551615", u64::MAX),
            ("1e18", 1_000_000_000_000_000_000),
            ("1900000000000001.0", 1_900_000_000_000_001),
            ("9007199254740991.0", 9_007_199_254_740_991),
        ] {
            let members = Members { code: -1, size: Some(number) };
            assert_eq!(with_size(text), Some(members), "{text}");
        }
        assert_eq!(with_size("null"), Some(Members { code: -1, size: None }));
        let members: Members = serde_json::from_str(r#"{"code":-3.2601e4}"#).unwrap();
        assert_eq!(members, Members { code: -32601, size: None });
    }

    #[test]
    fn other_value_is_no_integer() {
        for text in [
            "1024.5",
            "1e-1",
            "-1",
            "-1.0",
            "18446744073709551616",
            "1.8446744073709552e19",
            "1.7014118346046923e38",
            "1e300",
            "1e400",
            "\"1\"",
            "true",
            "[1]",
        ] {
            assert_eq!(with_size(text), None, "{text}");
        }
        let error = serde_json::from_str::<Members>(r#"{"code":1.5}"#).unwrap_err();
        let expected = "invalid type: floating point `1.5`, expected i64 at line 1 column 11";
        assert_eq!(format!("{error}"), expected);
        assert!(serde_json::from_str::<Members>("{}").is_err());
    }

    #[test]
    fn text_is_read_as_an_integer() {
        assert_eq!(read_integer::<u64>(b"5e3"), Some(5000));
        assert_eq!(read_integer::<u64>(b"5.5"), None);
        assert_eq!(read_integer::<u64>(b"soon"), None);
    }
}

//! Matching of URIs against resource templates, with the values of their variables.
//!
//! In: the `uriTemplate` of a registered template, once, and the URI of each `resources/read`. Out:
//! the variables as a JSON object, which the handler decodes. A template consists of literals with
//! variables between them, and a query at the end: `/{a}{/b,c*}{?d}` is `/` a `/` b `/` c, then
//! `?`.
//!
//! RFC 6570 defines how a template becomes a URI, but not the reverse. This module decides:
//! - Each variable has a value of at least one character. Only variables of a query may be absent
//!   or empty. The value of `{;x}` is written `;x=value`.
//! - If a URI can be split in several ways, each variable, from left to right, takes as many
//!   characters as possible.
//! - The query begins at the first `?` (or `&`) that is not part of a literal, also after `{+x}`.
//!   Its parameters may have any order. Unknown parameters and parameters without `=` are ignored.
//!   The URI does not match if a parameter that is not a list occurs twice. A `+` is not a space.
//! - `{/x*}`, `{?x*}` and `{&x*}` are lists of texts. Other lists and all `{x:3}` are refused,
//!   because they are ambiguous, or lack a part of their value.
//! - A character outside ASCII equals its percent-encoded bytes, in literals too (section 3.1).
//!   Otherwise literals are compared as they are: `%7E` differs from `~`, and `%c3` from `%C3`.
//!
//! [Specification: Resource Templates](https://modelcontextprotocol.io/specification/2026-07-28/server/resources#resource-templates)

mod part;

use alloc::borrow::{Cow, ToOwned};
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::UsageError;
use crate::json::Json;
use crate::json::write::{self, List};
use crate::url::percent;

use part::{TemplatePart, VariableClass, decode};

const OPERATORS: &str = "+#./;?&=,!@|";
const QUERY_IS_LAST: &str = "only `{&…}` can follow a query";

/// The names of the variables of a `uriTemplate`. These are the members of [`Request::arguments`]
/// for the handler of the template.
///
/// Fails with [`UsageError::InvalidUriTemplate`].
///
/// [`Request::arguments`]: super::Request::arguments
pub fn template_variables(text: &str) -> Result<Vec<String>, UsageError> {
    Ok(UriTemplate::parse(text)?.variables().map(String::from).collect())
}

/// A URI template, for matching URIs.
#[derive(Debug, Default)]
pub(super) struct UriTemplate {
    parts: Vec<TemplatePart>,
    /// The literal after the last part.
    rest: String,
    query: Option<Query>,
}

/// `{?a,b*}` or `{&a,b*}`.
#[derive(Debug)]
struct Query {
    /// `?` or `&`.
    lead: u8,
    /// Number of times that the literals contain `lead`. The query follows the next occurrence.
    skip: usize,
    /// The names, and whether each is a list.
    names: Vec<(String, bool)>,
}

impl UriTemplate {
    /// Fails with [`UsageError::InvalidUriTemplate`] for an invalid template, and for one whose
    /// variables cannot be found in a URI.
    pub(super) fn parse(text: &str) -> Result<Self, UsageError> {
        let refuse = |part: &str, reason| {
            let template = text.to_owned();
            let part = part.to_owned();
            UsageError::InvalidUriTemplate { template, part, reason }
        };
        let mut template = Self::default();
        let mut left = text;
        while let Some((literal, expression)) = left.split_once('{') {
            template.literal(literal).map_err(|reason| refuse(literal, reason))?;
            let Some((expression, after)) = expression.split_once('}') else {
                return Err(refuse(expression, "`{` without `}`"));
            };
            template.expression(expression).map_err(|reason| refuse(expression, reason))?;
            left = after;
        }
        template.literal(left).map_err(|reason| refuse(left, reason))?;
        Ok(template)
    }

    /// The variables' names.
    pub(super) fn variables(&self) -> impl Iterator<Item = &str> {
        let query = self.query.iter().flat_map(|query| &query.names).map(|(name, _)| name);
        self.parts.iter().map(|part| &part.name).chain(query).map(String::as_str)
    }

    /// The variables' values as an object of strings, and of arrays of strings for lists. Absent
    /// variables are left out. `None` if the URI does not match the template.
    ///
    /// The values are percent-decoded, so a value may contain `/`, `\`, control characters and NUL
    /// (`%2F`, `%5C`, `%00`), or be `.` or `..`. `{name}` therefore does not keep a client inside a
    /// folder. Servers "**MUST** sanitize file paths to prevent directory traversal attacks".
    ///
    /// The time is proportional to the length of the URI times that of the template. Each variable
    /// outside of the query needs one bit of memory per byte of the URI.
    pub(super) fn matches(&self, uri: &str) -> Option<Json> {
        // Most URIs belong to other templates, and already differ in the first literal.
        let start = self.parts.first().map_or(&self.rest, |part| &part.before);
        if !ascii(uri).take(start.len()).eq(start.bytes()) {
            return None;
        }
        let uri: Cow<'_, [u8]> =
            if uri.is_ascii() { uri.as_bytes().into() } else { ascii(uri).collect() };
        let (path, parameters) = self.query.as_ref().map_or((&*uri, None), |q| q.split(&uri));
        let values = part::split(&self.parts, path.strip_suffix(self.rest.as_bytes())?)?;
        let mut out = Vec::new();
        let mut object = List::object(&mut out);
        for (part, text) in self.parts.iter().zip(values) {
            match part.class {
                VariableClass::Value | VariableClass::Reserved => {
                    object.text(&part.name, &decode(text)?);
                }
                VariableClass::Segments => {
                    write_list(&mut object, &part.name, text.split(|b| *b == b'/'))?;
                }
            }
        }
        if let (Some(query), Some(parameters)) = (&self.query, parameters) {
            query.write(&mut object, parameters)?;
        }
        object.end();
        Some(Json::trusted(out))
    }

    fn literal(&mut self, text: &str) -> Result<(), &'static str> {
        if self.query.is_some() && !text.is_empty() {
            return Err(QUERY_IS_LAST);
        }
        let start = self.rest.len();
        self.rest.extend(ascii(text).map(char::from));
        let mut left = self.rest.as_bytes().get(start..).unwrap_or_default();
        while !left.is_empty() {
            let length = VariableClass::Reserved.first(left);
            let length = length.ok_or("a character that must be percent-encoded")?;
            left = left.get(length..).unwrap_or_default();
        }
        Ok(())
    }

    fn expression(&mut self, text: &str) -> Result<(), &'static str> {
        let operator = text.chars().next().filter(|c| OPERATORS.contains(*c));
        let list = operator.and_then(|operator| text.strip_prefix(operator)).unwrap_or(text);
        for (place, variable) in list.split(',').enumerate() {
            let name = variable.strip_suffix('*');
            let is_list = name.is_some();
            let name = name.unwrap_or(variable);
            if name.contains(':') {
                return Err("a prefix is not the whole value, and the URI has no more of it");
            }
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if !name.split('.').all(|word| !word.is_empty() && word.chars().all(is_word)) {
                return Err("a variable's name has letters, digits, `_`, and dots between them");
            }
            if self.variables().any(|other| other == name) {
                return Err("a variable can be there only once");
            }
            match operator {
                Some('?') if place == 0 && self.query.is_some() => return Err(QUERY_IS_LAST),
                Some('?') => self.parameter(b'?', name, is_list),
                Some('&') => self.parameter(b'&', name, is_list),
                _ => self.part(operator, place, name, is_list)?,
            }
        }
        Ok(())
    }

    fn parameter(&mut self, lead: u8, name: &str, is_list: bool) {
        let literals = self.parts.iter().map(|part| &part.before).chain([&self.rest]);
        let skip = literals.map(|text| memchr::memchr_iter(lead, text.as_bytes()).count()).sum();
        let query = self.query.get_or_insert_with(|| Query { lead, skip, names: Vec::new() });
        query.names.push((name.to_owned(), is_list));
    }

    fn part(
        &mut self,
        operator: Option<char>,
        place: usize,
        name: &str,
        is_list: bool,
    ) -> Result<(), &'static str> {
        let class = match operator {
            Some('/') if is_list => VariableClass::Segments,
            _ if is_list => return Err("only `{/…*}`, `{?…*}` and `{&…*}` can be lists"),
            None | Some('.' | '/' | ';') => VariableClass::Value,
            Some('+' | '#') => VariableClass::Reserved,
            Some(_) => return Err("RFC 6570 keeps this operator for extensions"),
        };
        if self.query.is_some() {
            return Err(QUERY_IS_LAST);
        }
        self.rest.extend(match operator {
            Some('.' | '/' | ';') => operator,
            _ if place > 0 => Some(','),
            _ => operator.filter(|operator| *operator == '#'),
        });
        if operator == Some(';') {
            self.rest.extend([name, "="]);
        }
        if self.rest.is_empty() && !self.parts.is_empty() {
            return Err("nothing tells where the variable before ends and this one starts");
        }
        let before = core::mem::take(&mut self.rest);
        self.parts.push(TemplatePart { before, name: name.to_owned(), class });
        Ok(())
    }
}

impl Query {
    /// Splits `uri` into the part before the query, and the query.
    fn split<'a>(&self, uri: &'a [u8]) -> (&'a [u8], Option<&'a [u8]>) {
        let lead = memchr::memchr_iter(self.lead, uri).nth(self.skip);
        match lead.and_then(|at| uri.split_at_checked(at)) {
            Some((path, query)) => (path, query.get(1..)),
            None => (uri, None),
        }
    }

    fn write(&self, object: &mut List<'_, Vec<u8>>, parameters: &[u8]) -> Option<()> {
        // A fragment does not belong to the query.
        if parameters.contains(&b'#') {
            return None;
        }
        for (name, is_list) in &self.names {
            let mut values = parameters
                .split(|b| *b == b'&')
                .filter_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
                .peekable();
            if *is_list && values.peek().is_some() {
                write_list(object, name, values)?;
            } else if let Some(value) = values.next() {
                object.text(name, &decode(value)?);
                if values.next().is_some() {
                    return None;
                }
            }
        }
        Some(())
    }
}

fn write_list<'a>(
    object: &mut List<'_, Vec<u8>>,
    name: &str,
    items: impl Iterator<Item = &'a [u8]>,
) -> Option<()> {
    object.key(name);
    let mut array = List::array(object.out());
    for item in items {
        write::string(array.item(), &decode(item)?);
    }
    array.end();
    Some(())
}

/// The bytes of `text`, with percent-encoding for bytes outside ASCII.
fn ascii(text: &str) -> impl Iterator<Item = u8> + '_ {
    text.bytes().flat_map(|byte| {
        let (bytes, length) =
            if byte.is_ascii() { ([byte, 0, 0], 1) } else { (percent::encoded(byte), 3) };
        bytes.into_iter().take(length)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;

    #[test]
    fn tells_the_variables_from_the_uri() {
        for (template, cases) in [
            ("test://static", "test://static {} | test://statics - | test://stati -"),
            (
                "test://template/{id}/data",
                r#"test://template/123/data {"id":"123"} | test://template//data - |
                test://template/1/2/data - | test://template/1?/data - | test://template/1/data? - |
                test://template/Z%C3%BCrich%20/data {"id":"Zürich "} | Test://template/1/data - |
                test://template/東京/data {"id":"東京"} | test://template/%zz/data - |
                test://template/%2/data - | test://template/%/data - | test://template/%C3/data - |
                test://template/%2e%2E%2fetc%00/data {"id":"../etc\u0000"} |
                test://template/../data {"id":".."} | test://template/a"b/data -"#,
            ),
            ("é~/{a}", r#"é~/1 {"a":"1"} | %C3%A9~/1 {"a":"1"} | %c3%a9~/1 - | é%7E/1 -"#),
            ("{n}.{x}", r#"a.b.c {"n":"a.b","x":"c"} | a. - | .a - | ... {"n":".","x":"."}"#),
            ("{n}{.x,y}", r#"a.b.c {"n":"a","x":"b","y":"c"} | a.b -"#),
            ("x{a,b}", r#"x1,2 {"a":"1","b":"2"} | x1 - | x1,2,3 -"#),
            ("f:{+p}/x", r#"f:a/x/b%2F?c#d/x {"p":"a/x/b/?c#d"} | f:/x - | f://x {"p":"/"}"#),
            ("a{#b,c}", r#"a#1,2,3 {"b":"1,2","c":"3"} | a1,2 - | a -"#),
            ("a{/b,c*}", r#"a/1/2/%2F {"b":"1","c":["2","/"]} | a/1 - | a/1/2/ - | a/1//2 -"#),
            ("a{/b*}/c", r#"a/c/c {"b":["c"]} | a//c - | a/c -"#),
            ("a{;b,c}", r#"a;b=1;c=2 {"b":"1","c":"2"} | a;c=2;b=1 - | a;b;c=2 -"#),
            (
                "{+p}{?q,l*}",
                r#"a {"p":"a"} | a? {"p":"a"} | a?l=1&q=/?&l=&x=%&q {"p":"a","q":"/?","l":["1",""]} |
                a?q=1&q=2 - | a?q=%f - | a?q=%FF - | a?q=1#f - | a?q=a+b {"p":"a","q":"a+b"} | ?q=1 -"#,
            ),
            ("a?f=1&g{&x}", r#"a?f=1&g {} | a?f=1&g&y&x=1 {"x":"1"} | a?f=1 - | a?f=1&gx=1 -"#),
            ("a{?x}{&y}", r#"a?y=1&x=2 {"x":"2","y":"1"} | a&y=1 -"#),
        ] {
            let parsed = UriTemplate::parse(template).unwrap();
            for case in cases.split(" |") {
                let (uri, expected) = case.trim().split_once(' ').unwrap();
                let found = parsed.matches(uri).map_or("-".into(), |json| json.to_string());
                assert_eq!(found, expected, "{template} {uri}");
            }
        }
    }

    #[test]
    fn refuses_what_cannot_be_matched() {
        for (template, part, reason) in [
            ("a{b", "b", "without `}`"),
            ("a}b", "a}b", "percent-encoded"),
            ("a b{c}", "a b", "percent-encoded"),
            ("a%b{c}", "a%b", "percent-encoded"),
            ("{}", "", "name"),
            ("{a,}", "a,", "name"),
            ("{a-b}", "a-b", "name"),
            ("{a..b}", "a..b", "name"),
            ("{é}", "é", "name"),
            ("{a}/{+b,a}", "+b,a", "once"),
            ("{?a,a}", "?a,a", "once"),
            ("{a:3}", "a:3", "prefix"),
            ("{a*}", "a*", "lists"),
            ("{+a*}", "+a*", "lists"),
            ("{=a}", "=a", "extensions"),
            ("{a}{b}", "b", "nothing tells"),
            ("{/a*}{+b}", "+b", "nothing tells"),
            ("{?a}b", "b", QUERY_IS_LAST),
            ("{?a}{b}", "b", QUERY_IS_LAST),
            ("{?a}{?b}", "?b", QUERY_IS_LAST),
        ] {
            let error = UriTemplate::parse(template).unwrap_err().to_string();
            assert!(error.contains(&format!("\"{template}\", for \"{part}\": ")), "{error}");
            assert!(error.contains(reason), "{error}");
        }
        let template = UriTemplate::parse("a/{b,c}{/d.e*}{?f}{&g*}").unwrap();
        assert_eq!(template.variables().collect::<Vec<_>>(), ["b", "c", "d.e", "f", "g"]);
    }

    #[test]
    fn gives_back_what_an_expansion_was_made_of() {
        let template = UriTemplate::parse("t://{a}/{b}{/c*}{;d}{?e,f*}").unwrap();
        let alphabet: Vec<char> = "a0-._~%/?#&=;, \\\"\0é東😀".chars().collect();
        let mut seed = 1_u32;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % below
        };
        for _ in 0..2_000 {
            let values: [String; 7] = core::array::from_fn(|_| {
                (0..=random(5)).map(|_| alphabet[random(alphabet.len())]).collect()
            });
            let encoded = values.each_ref().map(|value| {
                let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
                let escape = |b| if plain(b) { char::from(b).into() } else { format!("%{b:02X}") };
                value.bytes().map(escape).collect::<String>()
            });
            let path = format!("t://{}/{}/{};d={}", encoded[0], encoded[1], encoded[2], encoded[3]);
            let uri = format!("{path}?f={}&e={}&f={}", encoded[4], encoded[5], encoded[6]);
            let found: serde_json::Value = template.matches(&uri).unwrap().decode().unwrap();
            let expected = serde_json::json!({
                "a": values[0], "b": values[1], "c": [values[2]], "d": values[3],
                "e": values[5], "f": [values[4], values[6]],
            });
            assert_eq!(found, expected, "{uri}");
        }
    }
}

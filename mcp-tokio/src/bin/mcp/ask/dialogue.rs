//! Questions and answers, line by line.
//!
//! In: a form or a URL, and lines of the user. Out: questions, then the answer. The end of the
//! input cancels.

use std::io::{self, BufRead, Write};

use mcp_tokio::Url;
use mcp_tokio::types::{
    ElicitAction, ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult,
};
use serde_json::{Map, Value};

use super::field::Field;
use crate::print::{clean, marked};

pub(super) struct Dialogue<R, W> {
    input: R,
    out: W,
}

/// Reason why no form is sent.
enum Stopped {
    By(ElicitAction),
    /// The input has ended, or the terminal has failed.
    Lost,
}

impl From<io::Error> for Stopped {
    fn from(_: io::Error) -> Self {
        Self::Lost
    }
}

impl<R: BufRead, W: Write> Dialogue<R, W> {
    pub(super) fn new(input: R, out: W) -> Self {
        Self { input, out }
    }

    /// Asks for each field, then for confirmation.
    pub(super) fn form(&mut self, form: &ElicitRequestFormParams) -> ElicitResult {
        self.fill(form).unwrap_or_else(Stopped::into_answer)
    }

    /// Shows a URL and its domain, and asks whether the user goes there. The user opens it, after
    /// checking it.
    pub(super) fn url(&mut self, page: &ElicitRequestURLParams) -> ElicitResult {
        let mut ask = || {
            self.print_line(&format!("the server sends you to a page: {}", page.message))?;
            self.print_line(&format!("  {}", page.url))?;
            self.print_line(&format!("  {}", domain(&page.url)))?;
            self.print_line("  Open it yourself if you trust it.")?;
            self.confirm("are you going there?")
        };
        let agreed = ask().map(|()| ElicitResult::new(ElicitAction::Accept));
        agreed.unwrap_or_else(Stopped::into_answer)
    }

    fn fill(&mut self, form: &ElicitRequestFormParams) -> Result<ElicitResult, Stopped> {
        self.print_line(&format!("the server asks: {}", form.message))?;
        self.print_line("  An empty line takes the default, or leaves the field out.")?;
        self.print_line("  :decline declines, :cancel closes the form.")?;
        loop {
            let mut content = Map::new();
            for (name, schema) in &form.requested_schema.properties {
                let required = form.requested_schema.required.contains(name);
                let field = Field { name, schema, required };
                if let Some(value) = self.field(&field)? {
                    content.insert(name.clone(), value);
                }
            }
            self.confirm("send it?")?;
            match form.accept(&content) {
                Ok(answer) => return Ok(answer),
                Err(error) => self.print_line(&format!("  {error}"))?,
            }
        }
    }

    /// Asks until the answer is valid.
    fn field(&mut self, field: &Field<'_>) -> Result<Option<Value>, Stopped> {
        for line in field.describe() {
            self.print_line(&line)?;
        }
        loop {
            let line = self.read_line("> ")?;
            match field.read(&line) {
                Ok(value) => return Ok(value),
                Err(wrong) => self.print_line(&format!("  {wrong}"))?,
            }
        }
    }

    fn confirm(&mut self, question: &str) -> Result<(), Stopped> {
        loop {
            let line = self.read_line(&format!("{question} [yes, no, cancel] "))?;
            return match line.to_lowercase().as_str() {
                "y" | "yes" => Ok(()),
                "n" | "no" => Err(Stopped::By(ElicitAction::Decline)),
                "c" | "cancel" => Err(Stopped::By(ElicitAction::Cancel)),
                _ => {
                    self.print_line("  answer yes, no or cancel")?;
                    continue;
                }
            };
        }
    }

    /// Reads the next line. Fails if the user declines or cancels, and at the end of the input.
    fn read_line(&mut self, question: &str) -> Result<String, Stopped> {
        write!(self.out, "{}", clean(question))?;
        self.out.flush()?;
        let mut line = String::new();
        if self.input.read_line(&mut line)? == 0 {
            // Further output begins on a new line.
            self.print_line("")?;
            return Err(Stopped::Lost);
        }
        match line.trim() {
            ":decline" => Err(Stopped::By(ElicitAction::Decline)),
            ":cancel" => Err(Stopped::By(ElicitAction::Cancel)),
            line => Ok(line.to_owned()),
        }
    }

    /// Writes a line. A text of the server with several lines cannot look like lines of `mcp`.
    fn print_line(&mut self, text: &str) -> Result<(), Stopped> {
        Ok(writeln!(self.out, "{}", clean(&marked(text)))?)
    }
}

/// The domain of a URL, by which a person can tell whose page it is.
///
/// "Clients SHOULD highlight the domain of the URL to mitigate subdomain spoofing", and "warn of
/// ambiguous or suspicious URIs".
fn domain(url: &str) -> String {
    match Url::parse(url) {
        Ok(url) if url.host().split('.').any(|label| label.starts_with("xn--")) => {
            format!("Domain: {}  (Punycode: its letters may look like others)", url.host())
        }
        Ok(url) => format!("Domain: {}", url.host()),
        Err(_) => "Take care: it is no plain web address, and its domain is not clear.".into(),
    }
}

impl Stopped {
    fn into_answer(self) -> ElicitResult {
        ElicitResult::new(match self {
            Self::By(action) => action,
            Self::Lost => ElicitAction::Cancel,
        })
    }
}

#[cfg(test)]
mod tests {
    use mcp_tokio::types::{
        BooleanSchema, EnumOption, LegacyTitledEnumSchema, NumberSchema, RequestedSchema,
        StringSchema, TitledSingleSelectEnumSchema, UntitledMultiSelectEnumSchema,
    };

    use super::*;

    /// Answers a form with the typed input of a user; returns the result and the terminal's text.
    fn talk(form: &ElicitRequestFormParams, typed: &str) -> (ElicitResult, String) {
        let mut out = Vec::new();
        let answer = Dialogue::new(typed.as_bytes(), &mut out).form(form);
        (answer, String::from_utf8(out).unwrap())
    }

    fn form() -> ElicitRequestFormParams {
        let mut port = NumberSchema::new().description("Where to listen");
        (port.minimum, port.default) = (Some(1.into()), Some(8000.into()));
        let colours = vec![EnumOption::new("r", "Red"), EnumOption::new("g", "Green")];
        let extras = vec!["a".to_owned(), "b".to_owned(), "c".to_owned()];
        let schema = RequestedSchema::new()
            .required("name", StringSchema::new().title("Your name"))
            .optional("port", port)
            .optional("sure", BooleanSchema::new())
            .optional("colour", TitledSingleSelectEnumSchema::new(colours))
            .optional("extras", UntitledMultiSelectEnumSchema::new(extras));
        ElicitRequestFormParams::new("Who\x1b[31m are you?", schema)
    }

    #[test]
    fn a_form_is_filled_in_field_by_field() {
        let (answer, seen) = talk(&form(), "\nAda\n0\nx\n80\nyes\n3\n2\n1, c\n\nyes\n");
        assert_eq!(answer.action, ElicitAction::Accept);
        let content = answer.content.unwrap();
        assert_eq!(
            content.as_str(),
            r#"{"colour":"g","extras":["a","c"],"name":"Ada","port":80,"sure":true}"#
        );
        let expected = "\
the server asks: Who\u{fffd}[31m are you?
  An empty line takes the default, or leaves the field out.
  :decline declines, :cancel closes the form.
name: Your name (text, required)
>   it is required
> port: Where to listen (number, default 8000)
>   it must be 1 or more
>   it must be a number
> sure (yes or no)
> colour (one of them)
    1  Red (r)
    2  Green (g)
>   there is no choice 3
> extras (some of them, with commas between)
    1  a
    2  b
    3  c
> send it? [yes, no, cancel]   answer yes, no or cancel
send it? [yes, no, cancel] ";
        assert_eq!(seen, expected);
    }

    #[test]
    fn empty_lines_take_defaults() {
        let (answer, _) = talk(&form(), "Ada\n\n\n\n\nmaybe\ny\n");
        assert_eq!(answer.content.unwrap().as_str(), r#"{"name":"Ada","port":8000}"#);
    }

    #[test]
    fn choice_without_a_title_can_be_made() {
        let options = ["r", "g"].map(|text| EnumOption::new(text, text.to_uppercase()));
        let mut colour = LegacyTitledEnumSchema::new(options);
        colour.enum_names.truncate(1);
        let form = ElicitRequestFormParams::new(
            "Which?",
            RequestedSchema::new().required("colour", colour),
        );
        let (answer, seen) = talk(&form, "2\nyes\n");
        assert_eq!(answer.content.unwrap().as_str(), r#"{"colour":"g"}"#);
        assert!(seen.contains("    1  R (r)\n    2  g\n"), "{seen}");
    }

    #[test]
    fn a_form_may_be_declined_and_cancelled_at_any_time() {
        for (typed, action) in [
            (":decline\n", ElicitAction::Decline),
            ("Ada\n:cancel\n", ElicitAction::Cancel),
            ("Ada\n\n\n\n\nno\n", ElicitAction::Decline),
            ("Ada\n\n\n\n\nc\n", ElicitAction::Cancel),
            ("Ada\n", ElicitAction::Cancel),
        ] {
            let (answer, _) = talk(&form(), typed);
            assert_eq!((answer.action, answer.content), (action, None), "{typed:?}");
        }
    }

    #[test]
    fn a_url_is_shown_and_agreed_to() {
        let page = ElicitRequestURLParams::new("Log in", "https://example.com/login");
        for (typed, action) in [
            ("yes\n", ElicitAction::Accept),
            ("no\n", ElicitAction::Decline),
            ("", ElicitAction::Cancel),
        ] {
            let mut out = Vec::new();
            let answer = Dialogue::new(typed.as_bytes(), &mut out).url(&page);
            assert_eq!(answer.action, action);
            let seen = String::from_utf8(out).unwrap();
            assert!(seen.contains("https://example.com/login\n"), "{seen}");
        }
    }

    #[test]
    fn text_of_a_server_has_no_line_like_one_of_the_program() {
        let page = ElicitRequestURLParams::new("Hi\n  Domain: a.example", "https://b.example\nyes");
        let mut out = Vec::new();
        let _ = Dialogue::new("no\n".as_bytes(), &mut out).url(&page);
        let seen = String::from_utf8(out).unwrap();
        assert!(seen.contains("a page: Hi\n   |   Domain: a.example\n"), "{seen}");
        assert!(seen.contains("  https://b.example\n   | yes\n  Take care: "), "{seen}");
        let name = StringSchema::new().description("x\nsend it? [yes, no, cancel] ");
        let form = RequestedSchema::new().required("a", name);
        let (_, seen) = talk(&ElicitRequestFormParams::new("b", form), "");
        assert!(
            seen.contains("a: x\n   | send it? [yes, no, cancel]  (text, required)\n"),
            "{seen}"
        );
    }

    #[test]
    fn domain_of_a_url_is_shown() {
        for (url, line) in [
            ("https://example.com.evil.example:8443/a", "Domain: example.com.evil.example\n"),
            ("https://EXAMPLE.com", "Domain: example.com\n"),
            (
                "https://xn--bcher-kva.com/",
                "Domain: xn--bcher-kva.com  (Punycode: its letters may look like others)\n",
            ),
            ("https://example.com@evil.example/", "Take care: "),
            ("https://ex\u{e4}mple.com/", "Take care: "),
            ("javascript:alert(1)", "Take care: "),
        ] {
            let mut out = Vec::new();
            let page = ElicitRequestURLParams::new("Log in", url);
            let _ = Dialogue::new("yes\n".as_bytes(), &mut out).url(&page);
            let seen = String::from_utf8(out).unwrap();
            assert!(seen.contains(&format!("  {url}\n  {line}")), "{seen}");
        }
    }
}

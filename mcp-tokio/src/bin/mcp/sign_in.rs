//! Sign-in to servers over HTTP: options, stored credentials, and the browser.
//!
//! In: [`SignInArgs`]. Out: a [`SignIn`] for a client. Commands use and refresh stored credentials;
//! only `--login` asks a person.

use std::env;
use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use mcp_tokio::Url;
use mcp_tokio::auth::{Config, FileVault, Loopback, Paste, SignIn, open_page};

use crate::failure::Failure;
use crate::print;
use crate::secret_variable;

/// The options of a sign-in.
#[derive(clap::Args, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option")]
pub(crate) struct SignInArgs {
    /// Signs in, in the browser, if the server requires it and no credentials are stored
    #[arg(long)]
    pub(crate) login: bool,
    /// The id of a client that was registered by hand with the authorization server
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// The variable with the secret of that client
    #[arg(long, value_name = "VARIABLE", requires = "client_id")]
    pub(crate) client_secret_env: Option<String>,
    /// A scope to request besides those that the server names; may be repeated
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    /// The host of the redirect to this machine: some authorization servers only accept localhost
    #[arg(long, value_name = "HOST", default_value = "127.0.0.1",
          value_parser = ["127.0.0.1", "localhost"])]
    pub(crate) callback_host: String,
    /// The port of the redirect, if it is registered with the authorization server
    #[arg(long, value_name = "PORT")]
    pub(crate) callback_port: Option<u16>,
    /// Reads the address of the redirect from the terminal: for a browser on another machine
    #[arg(long)]
    pub(crate) paste: bool,
    /// Accepts an authorization server that states another issuer than the expected one
    #[arg(long, value_name = "EXPECTED=STATED", value_parser = issuer)]
    pub(crate) issuer: Vec<(String, String)>,
    /// Takes for granted that an authorization server supports PKCE with S256; may be repeated
    #[arg(long, value_name = "ISSUER")]
    pub(crate) assume_s256: Vec<String>,
    /// Signs in by http to a host that is not this machine: use it only if something else, such as
    /// a tunnel, encrypts secrets and tokens; may be repeated
    #[arg(long, value_name = "HOST")]
    pub(crate) allow_http: Vec<String>,
    /// Omits the parameter `resource`, which some authorization servers reject
    #[arg(long)]
    pub(crate) no_resource: bool,
    /// Sends the scopes with each refresh too, as some authorization servers require
    #[arg(long)]
    pub(crate) repeat_scopes: bool,
}

fn issuer(text: &str) -> Result<(String, String), String> {
    let (expected, stated) = text.split_once('=').ok_or("it is two URLs with = between them")?;
    Ok((expected.to_owned(), stated.to_owned()))
}

impl SignInArgs {
    /// The sign-in of a client. Without `--login` it is `None` if nothing was ever stored.
    pub(crate) fn sign_in(&self) -> Result<Option<SignIn>, Failure> {
        let Some(directory) = directory() else {
            return if self.login { Err(no_directory()) } else { Ok(None) };
        };
        if !self.login && !directory.is_dir() {
            return Ok(None);
        }
        let vault =
            FileVault::open(directory).map_err(|error| Failure::usage(error.to_string()))?;
        let sign_in = match (self.login, self.paste) {
            (false, _) => SignIn::new(vault),
            (true, false) => SignIn::new(vault).consent(Loopback::with(show)),
            (true, true) => SignIn::new(vault).consent(Paste::new(ask)),
        };
        let secret = self.client_secret_env.as_deref().map(secret_variable::read).transpose()?;
        let args = self.clone();
        Ok(Some(sign_in.settings(move |settings| args.settings(settings, secret.as_deref()))))
    }

    fn settings(&self, settings: Config, secret: Option<&str>) -> Config {
        let mut settings = settings
            .client_name("mcp")
            .redirect_uri(&self.redirect_uri())
            .scopes(&self.scope.join(" "));
        if let Some(id) = &self.client_id {
            settings = settings.client_of_server(id, secret);
        }
        for (expected, stated) in &self.issuer {
            settings = settings.accepts_issuer(expected, stated);
        }
        for issuer in &self.assume_s256 {
            settings = settings.assumes_s256(issuer);
        }
        for host in &self.allow_http {
            settings = settings.allow_http(host);
        }
        if self.no_resource {
            settings = settings.omits_resource();
        }
        if self.repeat_scopes {
            settings = settings.repeats_scopes();
        }
        settings
    }

    fn redirect_uri(&self) -> String {
        let host = &self.callback_host;
        match self.callback_port {
            Some(port) => format!("http://{host}:{port}/callback"),
            None => format!("http://{host}/callback"),
        }
    }
}

/// The directory of the credentials of this user.
fn directory() -> Option<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(directory) = variable("MCP_CREDENTIALS") {
        return Some(directory);
    }
    let settings = if cfg!(windows) {
        variable("APPDATA")
    } else {
        variable("XDG_CONFIG_HOME").or_else(|| variable("HOME").map(|home| home.join(".config")))
    };
    settings.map(|settings| settings.join("mcp").join("credentials"))
}

fn no_directory() -> Failure {
    Failure::usage("there is no place for credentials: the environment has no HOME")
        .advice("set MCP_CREDENTIALS to a directory of your own")
}

/// Shows a page in the browser: with the program in `BROWSER`, or the one of the system.
fn show(url: &Url) -> io::Result<()> {
    print::notes(&["Sign in on this page, which the browser shows:", &format!("  {url}")]);
    let Some(browser) = env::var_os("BROWSER").filter(|browser| !browser.is_empty()) else {
        // Without a browser, the user has the address.
        let _ = open_page(url);
        return Ok(());
    };
    let mut command = Command::new(&browser);
    command.arg(url.as_str()).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = command.spawn().map_err(|error| {
        let program = browser.display();
        io::Error::new(error.kind(), format!("BROWSER names {program}, which fails: {error}"))
    })?;
    let _ = std::thread::Builder::new().spawn(move || child.wait());
    Ok(())
}

/// The way around the limit for a line of a terminal. Of a longer line also the end is lost.
const LONG_LINE: &str = "(A terminal of macOS takes at most 1,024 characters. For a longer address
press ^C, run `stty -icanon`, and sign in again.)";

/// The advice about long addresses.
fn advice(is_apple: bool, is_terminal: bool) -> &'static str {
    if is_apple && is_terminal { LONG_LINE } else { "" }
}

/// Shows a text, and reads a line.
fn ask(text: &str) -> io::Result<String> {
    let advice = advice(cfg!(target_vendor = "apple"), io::stdin().is_terminal());
    print::notes(&advice.lines().chain(text.lines()).collect::<Vec<_>>());
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(line)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        args: SignInArgs,
    }

    type Setter = fn(Config) -> Config;

    #[test]
    fn terminal_of_macos_needs_another_mode_for_long_addresses() {
        assert!(advice(true, true).contains("stty -icanon"));
        for (is_apple, is_terminal) in [(true, false), (false, true), (false, false)] {
            assert_eq!(advice(is_apple, is_terminal), "");
        }
    }

    #[test]
    fn each_exception_is_an_option() {
        let server = Url::parse("https://s.example/mcp").unwrap();
        let settings = |words: &[&str]| {
            let program = Program::parse_from([&["mcp"], words].concat());
            format!("{:?}", program.args.settings(Config::new(server.clone()), None))
        };
        let renamed = "--issuer=https://a.example=https://a.example/";
        let options: [(&[&str], Setter); 6] = [
            (&["--scope", "a", "--scope", "b"], |it| it.scopes("a b")),
            (&[renamed], |it| it.accepts_issuer("https://a.example", "https://a.example/")),
            (&["--assume-s256", "https://a.example"], |it| it.assumes_s256("https://a.example")),
            (&["--allow-http", "s.example"], |it| it.allow_http("s.example")),
            (&["--no-resource"], Config::omits_resource),
            (&["--repeat-scopes"], Config::repeats_scopes),
        ];
        let usual = Config::new(server.clone()).client_name("mcp");
        for (words, set) in options {
            let config = set(usual.clone());
            assert_eq!(settings(words), format!("{config:?}"));
            assert_ne!(settings(words), settings(&[]));
        }
        let config = options.iter().fold(usual, |config, (_, set)| set(config));
        let words = options.map(|(words, _)| words).concat();
        assert_eq!(settings(&words), format!("{config:?}"));
    }
}

//! `mcp login` and `mcp logout`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use mcp_tokio::auth::{AuthError, AuthState};
use serde_json::json;

use crate::args::Alone;
use crate::failure::{Exit, Failure};
use crate::interrupt::unless_interrupted;
use crate::print::{self, Output};
use crate::session::{Session, client};
use crate::target::Target;

const SETTINGS: &str = "the settings of a sign-in are options: --client-id sets the client, --issuer \
                        accepts an issuer; for assumes_s256 use --assume-s256, for omits_resource \
                        --no-resource; see mcp login --help";

/// Signs in, and connects to show that the tokens are accepted.
pub(crate) async fn login(mut args: Alone, output: Output) -> Result<Exit, Failure> {
    args.common.sign_in.login = true;
    let target = target(&args)?;
    let name = target.name();
    let client = client(&args.common, &target)?;
    let sign_in = Arc::new(Mutex::new(SignInReport::default()));
    let report = sign_in.clone();
    client.on_authorization(move |state| locked(&report).read(state));
    let mut session = Session::open(&client, target);
    let done = unless_interrupted(async {
        // The refusal of the server starts the sign-in.
        let server = session.connected().await.map_err(with_settings)?;
        let was_asked = locked(&sign_in).was_asked;
        if !was_asked {
            client.authorize("").await.map_err(|error| failed(&error))?;
        }
        Ok(server)
    });
    let done = done.await;
    session.close().await;
    let server = done?.implementation.map(|it| it.name);
    if let Some(reason) = locked(&sign_in).unsaved.take() {
        let message = format!("the credentials for {name} cannot be stored: {reason}");
        return Err(Failure::new(Exit::Connection, message)
            .advice("MCP_CREDENTIALS in the environment names another folder for them"));
    }
    if output.is_json() {
        print::document(&json!({ "url": name, "server": server }));
    } else {
        print::text(&format!("signed in to {name}"));
    }
    Ok(Exit::Fine)
}

/// The events of a sign-in so far.
#[derive(Default)]
struct SignInReport {
    /// True if a person was asked.
    was_asked: bool,
    /// The reason why the last credentials are not stored.
    unsaved: Option<String>,
}

impl SignInReport {
    #[expect(clippy::wildcard_enum_match_arm, reason = "the result of the sign-in has the failure")]
    fn read(&mut self, state: &AuthState) {
        match state {
            AuthState::Asking => self.was_asked = true,
            AuthState::Ready { unsaved } => self.unsaved.clone_from(unsaved),
            _ => {}
        }
    }
}

fn locked(report: &Mutex<SignInReport>) -> MutexGuard<'_, SignInReport> {
    report.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes the stored credentials.
pub(crate) async fn logout(args: Alone, output: Output) -> Result<Exit, Failure> {
    let target = target(&args)?;
    let name = target.name();
    let Target::Http(config) = target else { return Err(no_url()) };
    let stored = match args.common.sign_in.sign_in()? {
        Some(sign_in) => sign_in.forget(&config.url).await,
        None => Ok(false),
    };
    let is_stored = stored.map_err(|error| {
        let message = format!("the credentials for {name} cannot be removed: {error}");
        Failure::new(Exit::Connection, message)
    })?;
    if output.is_json() {
        print::document(&json!({ "url": name, "removed": is_stored }));
    } else if is_stored {
        print::text(&format!("removed the credentials for {name}"));
    } else {
        print::text(&format!("there are no credentials for {name}"));
    }
    Ok(Exit::Fine)
}

fn target(args: &Alone) -> Result<Target, Failure> {
    match Target::new(args.url.as_deref(), &args.common)? {
        Target::Command(_) => Err(no_url()),
        target @ Target::Http(_) => Ok(target),
    }
}

fn no_url() -> Failure {
    Failure::usage("only servers over HTTP have a sign-in")
        .advice("a server that is started here gets its credentials by --env")
}

/// The advice of a refusal is to run this command, and its text names settings of the library.
fn with_settings(failure: Failure) -> Failure {
    if failure.exit == Exit::Unauthorized { failure.advice(SETTINGS) } else { failure }
}

/// The failure of a sign-in that the server has not asked for.
fn failed(error: &AuthError) -> Failure {
    let advice = format!("the server has not asked for a sign-in, and may need none; {SETTINGS}");
    Failure::new(Exit::Unauthorized, format!("the sign-in failed: {error}")).advice(advice)
}

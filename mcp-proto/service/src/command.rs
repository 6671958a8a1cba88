//! Configuration of a server that runs as a child process.
//!
//! In: the program, its arguments and environment, and its time to exit. Out, for an adapter: a
//! [`std::process::Command`] with the protocol on its standard input and output, in its own process
//! group.
//!
//! [Specification: stdio](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio)

use alloc::borrow::ToOwned;
use alloc::vec::Vec;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::{InheritedEnv, Stderr};
use mcp_proto::Duration;

/// A server that a client starts as a child process, connected by its standard input and output.
///
/// ```
/// use mcp_service::{Command, Stderr};
///
/// let command = Command::new("npx")
///     .args(["-y", "@modelcontextprotocol/server-everything"])
///     .env("NO_COLOR", "1")
///     .stderr(Stderr::lines(|line| eprintln!("everything: {line}")));
/// assert_eq!(command.args.len(), 2);
/// ```
///
/// A `Command` is plain data, and can start a server several times. The server inherits only the
/// variables of [`InheritedEnv::Safe`], unless [`Command::inherit_env`] or [`Command::env_clear`]
/// is called. `Debug` does not show the values of variables.
///
/// On Unix the server has its own process group. ^C in a terminal does not reach the server, so a
/// program that exits on ^C should close its clients first. The system stops a server that reads
/// from the terminal itself, such as `ssh` asking for a password.
///
/// On Windows the server opens no console window.
///
/// [Specification: stdio](https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio)
#[derive(Clone)]
#[non_exhaustive]
pub struct Command {
    /// A path, or a name to look up in `PATH`. On Windows the name of a batch file, such as `npx`,
    /// needs no extension.
    pub program: OsString,
    /// Arguments of the program, without its name.
    pub args: Vec<OsString>,
    /// Variables that are added to the inherited ones or replace them; the last one of a name
    /// counts.
    pub env: Vec<(OsString, OsString)>,
    /// The variables that the program inherits from the client; default [`InheritedEnv::Safe`].
    pub inherited_env: InheritedEnv,
    /// Working directory; default that of the client.
    pub current_dir: Option<PathBuf>,
    /// Destination of its standard error; default that of the client.
    pub stderr: Stderr,
    /// The time to exit after the end of input, and again after SIGTERM (on Unix); then the program
    /// is killed. Default 2 s.
    pub grace: Duration,
}

impl Command {
    /// A program without arguments. Avoid a relative path together with [`Command::current_dir`]:
    /// systems differ in the folder that the path is relative to.
    pub fn new(program: impl AsRef<OsStr>) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            inherited_env: InheritedEnv::Safe,
            current_dir: None,
            stderr: Stderr::Inherit,
            grace: Duration::from_secs(2),
        }
    }

    /// Adds an argument, which is passed without a shell.
    pub fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    /// Adds several arguments.
    pub fn args(mut self, args: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets a variable of its environment.
    pub fn env(mut self, key: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.env.push((key.as_ref().to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Lets the program inherit all variables of the client, including secrets.
    pub fn inherit_env(mut self) -> Self {
        self.inherited_env = InheritedEnv::All;
        self
    }

    /// Clears the environment: no variable is inherited, and variables that were set before are
    /// removed.
    pub fn env_clear(mut self) -> Self {
        self.env.clear();
        self.inherited_env = InheritedEnv::Nothing;
        self
    }

    /// Sets the working directory.
    pub fn current_dir(mut self, current_dir: impl AsRef<Path>) -> Self {
        self.current_dir = Some(current_dir.as_ref().to_owned());
        self
    }

    /// Sets the destination of its standard error.
    pub fn stderr(mut self, stderr: Stderr) -> Self {
        self.stderr = stderr;
        self
    }

    /// Sets the time to exit after the end of input, and again after SIGTERM; default 2 s.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// For adapters: the command to start. Standard input and output are pipes; standard error is
    /// [`Stderr::stdio`]. On Unix the process leads its own group, which a
    /// [`ProcessGroup`](super::ProcessGroup) ends.
    pub fn to_std(&self) -> std::process::Command {
        let file = self.program_file();
        let program = file.as_deref().map_or(&*self.program, Path::as_os_str);
        let mut command = std::process::Command::new(program);
        self.inherited_env.apply(&mut command);
        command.args(&self.args).envs(self.env.iter().map(|(key, value)| (key, value)));
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        #[cfg(windows)]
        if !self.writes_to_terminal() {
            let flags = super::process_group::CREATE_NO_WINDOW;
            std::os::windows::process::CommandExt::creation_flags(&mut command, flags);
        }
        if let Some(current_dir) = &self.current_dir {
            command.current_dir(current_dir);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(self.stderr.stdio());
        command
    }

    /// Returns whether the server writes its standard error to the console of this process. The
    /// server then shares that console, since it cannot write to it from a console of its own.
    #[cfg(windows)]
    fn writes_to_terminal(&self) -> bool {
        matches!(self.stderr, Stderr::Inherit) && io::IsTerminal::is_terminal(&io::stderr())
    }

    /// The file of the program on Windows, if the standard library would not find it.
    fn program_file(&self) -> Option<PathBuf> {
        if !cfg!(windows) {
            return None;
        }
        #[expect(clippy::disallowed_methods, reason = "a child inherits from this process")]
        let read = |name: &str| {
            let own = self.env.iter().rev().find(|(key, _)| key.eq_ignore_ascii_case(name));
            own.map(|(_, value)| value.clone()).or_else(|| std::env::var_os(name))
        };
        let (path, extensions) = (read("PATH")?, read("PATHEXT"));
        super::program_file::find(&self.program, &path, extensions.as_deref(), Path::is_file)
    }

    /// For adapters: adds the names of the program and its folder to an error, and keeps the kind.
    /// Explains what the system's texts do not say about scripts.
    pub fn not_started(&self, error: &io::Error) -> io::Error {
        let program = self.program.display();
        // A missing folder gives the same error as a missing program.
        let place =
            self.current_dir.as_ref().map(|folder| alloc::format!(" in {}", folder.display()));
        let place = place.unwrap_or_default();
        let hint = self.hint(error);
        io::Error::new(error.kind(), alloc::format!("cannot start {program}{place}: {error}{hint}"))
    }

    /// The reason why a file that exists was not started.
    #[cfg(unix)]
    fn hint(&self, error: &io::Error) -> &'static str {
        let is_path = self.program.as_encoded_bytes().contains(&b'/');
        let file = self.current_dir.as_deref().unwrap_or(Path::new("")).join(&self.program);
        if error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) {
            "; a script has #! and the path of its interpreter in its first line"
        } else if error.kind() == io::ErrorKind::NotFound && is_path && file.exists() {
            "; the file is there, but not the interpreter or the loader that it names"
        } else {
            ""
        }
    }

    #[cfg(not(unix))]
    #[expect(clippy::unused_self, reason = "on Unix the program matters")]
    fn hint(&self, _: &io::Error) -> &'static str {
        ""
    }
}

impl core::fmt::Debug for Command {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // Values of variables are often secrets, so only the names are shown.
        let env: Vec<_> = self.env.iter().map(|(key, _)| key).collect();
        f.debug_struct("Command")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &env)
            .field("inherited_env", &self.inherited_env)
            .field("current_dir", &self.current_dir)
            .field("stderr", &self.stderr)
            .field("grace", &self.grace)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::ToString;

    #[test]
    fn clearing_the_environment_takes_what_was_set_before() {
        let command = Command::new("x").env("A", "1").env_clear().env("B", "2").env("B", "3");
        let std = command.to_std();
        let env: Vec<_> = std.get_envs().collect();
        assert_eq!(env, [(OsStr::new("B"), Some(OsStr::new("3")))]);
    }

    #[test]
    fn values_of_variables_are_not_shown() {
        let shown = format!("{:?}", Command::new("x").env("TOKEN", "secret"));
        assert!(shown.contains("TOKEN") && !shown.contains("secret"), "{shown}");
    }

    #[test]
    #[cfg(unix)]
    fn an_error_tells_a_missing_interpreter_from_a_missing_file() {
        let missing = io::Error::from(io::ErrorKind::NotFound);
        let this = std::env::current_exe().unwrap();
        let hint = |command: Command, error| command.not_started(error).to_string();
        assert!(hint(Command::new(&this), &missing).ends_with(" that it names"));
        let (folder, name) = (this.parent().unwrap(), this.file_name().unwrap());
        let relative = Command::new(Path::new(".").join(name));
        let told = hint(relative.current_dir(folder), &missing);
        assert!(told.ends_with(" that it names"), "{told}");
        // A name is looked up in `PATH`.
        for program in [name, OsStr::new("/no/such/server")] {
            assert!(hint(Command::new(program), &missing).ends_with(&missing.to_string()));
        }
        let no_format = io::Error::from_raw_os_error(rustix::io::Errno::NOEXEC.raw_os_error());
        assert!(hint(Command::new("x"), &no_format).contains("#!"));
    }

    #[test]
    fn an_error_names_what_did_not_start() {
        let error = io::Error::from(io::ErrorKind::NotFound);
        let told = Command::new("server").current_dir("/nowhere").not_started(&error);
        assert_eq!(told.kind(), io::ErrorKind::NotFound);
        assert_eq!(told.to_string(), format!("cannot start server in /nowhere: {error}"));
    }
}

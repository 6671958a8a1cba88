//! Lookup of the file of a program's name on Windows.
//!
//! In: the name of a server, and the variables `PATH` and `PATHEXT`. Out: the path of the file that
//! a terminal would start, if the standard library would not find it. Package managers install
//! launchers such as `npx` as batch files, but the standard library only looks for `NAME.exe`. For
//! a name with a dot, such as `python3.12`, it does not even look for that. It escapes the
//! arguments of a batch file, and refuses arguments that cannot be escaped.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Extensions of files that Windows starts without another program, in its order.
const EXTENSIONS: [&str; 4] = [".COM", ".EXE", ".BAT", ".CMD"];

/// Returns the file for `program`; `None` if the standard library finds the program itself.
///
/// A name is looked up in the absolute folders of `path`, so that no file in the current folder is
/// started. `extensions` is the value of `PATHEXT`.
pub(super) fn find(
    program: &OsStr,
    path: &OsStr,
    extensions: Option<&OsStr>,
    exists: impl Fn(&Path) -> bool,
) -> Option<PathBuf> {
    let known = |extension: &&str| EXTENSIONS.iter().any(|it| it.eq_ignore_ascii_case(extension));
    let is_complete = |extension: &OsStr| {
        EXTENSIONS
            .iter()
            .any(|it| it.trim_start_matches('.').eq_ignore_ascii_case(&extension.to_string_lossy()))
    };
    if Path::new(program).extension().is_some_and(is_complete) {
        return None;
    }
    let extensions: Vec<&str> = match extensions.and_then(OsStr::to_str) {
        Some(list) => list.split(';').filter(known).collect(),
        None => EXTENSIONS.to_vec(),
    };
    let is_path = Path::new(program).components().count() > 1;
    let folders = if is_path { [PathBuf::new()].to_vec() } else { absolute(path) };
    let (file, extension) = folders
        .iter()
        .flat_map(|folder| extensions.iter().map(move |extension| (folder, *extension)))
        .map(|(folder, extension)| (folder.join(with(program, extension)), extension))
        .find(|(file, _)| exists(file))?;
    // In PATH the standard library only completes names without a dot.
    let is_completed = is_path || !program.as_encoded_bytes().contains(&b'.');
    let is_found = is_completed && extension.eq_ignore_ascii_case(".EXE");
    (!is_found).then_some(file)
}

fn absolute(path: &OsStr) -> Vec<PathBuf> {
    env::split_paths(path).filter(|folder| folder.is_absolute()).collect()
}

fn with(program: &OsStr, extension: &str) -> OsString {
    let mut file = program.to_owned();
    file.push(extension);
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(
        program: &str,
        path: &[&str],
        pathext: Option<&str>,
        files: &[&str],
    ) -> Option<PathBuf> {
        let path = env::join_paths(path).expect("no separators");
        let exists = |file: &Path| files.iter().any(|it| Path::new(it) == file);
        find(program.as_ref(), &path, pathext.map(OsStr::new), exists)
    }

    /// An absolute folder on this system.
    const A: &str = if cfg!(windows) { "C:\\a" } else { "/a" };
    const B: &str = if cfg!(windows) { "C:\\b" } else { "/b" };

    fn file(folder: &str, name: &str) -> String {
        Path::new(folder).join(name).to_string_lossy().into_owned()
    }

    #[test]
    fn launcher_of_a_package_manager_is_found() {
        let npx = file(B, "npx.CMD");
        // Without an extension it is a script for other systems.
        let files = [&*file(B, "npx"), &npx];
        assert_eq!(found("npx", &[A, B], None, &files), Some(npx.clone().into()));
        let all = Some(".COM;.EXE;.BAT;.CMD;.VBS;.JS");
        assert_eq!(found("npx", &[A, B], all, &files), Some(npx.clone().into()));
        assert_eq!(found("npx", &[A], None, &files), None);
    }

    #[test]
    fn programs_are_left_to_the_system() {
        let (exe, cmd) = (file(A, "uvx.EXE"), file(B, "uvx.CMD"));
        // The first in the path counts, and in a folder the first of the extensions.
        assert_eq!(found("uvx", &[A, B], None, &[&exe, &cmd]), None);
        assert_eq!(found("uvx", &[B, A], None, &[&exe, &cmd]), Some(cmd.into()));
        let both = [&*file(A, "uvx.CMD"), &exe];
        assert_eq!(found("uvx", &[A], None, &both), None);
        // The standard library looks up names with an extension.
        for complete in ["npx.cmd", "npx.Exe"] {
            assert_eq!(found(complete, &[A], None, &[&file(A, "npx.cmd.CMD")]), None);
        }
    }

    #[test]
    fn programs_that_the_standard_library_does_not_find_are_found() {
        let python = file(A, "python3.12.EXE");
        assert_eq!(found("python3.12", &[A], None, &[&python]), Some(python.into()));
        let (com, exe) = (file(A, "server.COM"), file(A, "server.EXE"));
        assert_eq!(found("server", &[A], None, &[&com, &exe]), Some(com.into()));
        // The standard library completes each path.
        let (program, exe) = (file(A, "server-1.2"), file(A, "server-1.2.EXE"));
        assert_eq!(found(&program, &[B], None, &[&exe]), None);
    }

    #[test]
    fn script_that_needs_another_program_is_not_started() {
        let script = file(A, "server.JS");
        assert_eq!(found("server", &[A], Some(".JS;.EXE"), &[&script]), None);
    }

    #[test]
    fn current_folder_is_not_searched() {
        let here = file(".", "npx.CMD");
        assert_eq!(found("npx", &[".", ""], None, &[&here, "npx.CMD"]), None);
    }

    #[test]
    fn path_without_an_extension_gets_one() {
        let (program, cmd) = (file(A, "server-1.2"), file(A, "server-1.2.CMD"));
        assert_eq!(found(&program, &[B], None, &[&cmd]), Some(cmd.into()));
    }
}

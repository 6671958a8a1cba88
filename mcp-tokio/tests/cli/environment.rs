//! The environment of a server that `mcp` starts.

use super::run::run_in;

crate::all!(second_hour_25_a_server_gets_the_variables_it_is_given, an_unset_variable_is_named);

const SECRET: (&str, &str) = ("MCP_CLI_TEST_SECRET", "0123");

fn second_hour_25_a_server_gets_the_variables_it_is_given() {
    for (words, shown) in [
        (&[][..], "[]"),
        (&["--env", "MCP_CLI_TEST_SECRET=4567"], "[4567]"),
        (&["--env", "MCP_CLI_TEST_SECRET"], "[0123]"),
        (&["--inherit-env"], "[0123]"),
    ] {
        let server = ["--", "sh", "-c", "echo \"[$MCP_CLI_TEST_SECRET]\" >&2"];
        let ran = run_in(&[SECRET], &[&["tools"], words, &server].concat());
        assert!(ran.err.starts_with(shown), "{words:?}: {ran:?}");
    }
}

fn an_unset_variable_is_named() {
    let ran = run_in(&[], &["tools", "--env", "MCP_CLI_TEST_UNSET", "--", "sh"]);
    let err = "mcp: --env: the variable MCP_CLI_TEST_UNSET is not set\n";
    assert_eq!((ran.exit, &*ran.err), (2, err));
}

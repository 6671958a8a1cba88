//! Errors of all kinds, and the program's texts for them.

use super::run::{Ran, run, run_in, with_server};
use super::scratch::Scratch;
use super::server::{nowhere, over_http, refusing, web};

crate::all!(
    the_command_line,
    url_with_a_file_of_servers_is_a_usage_error,
    tools_and_arguments,
    what_is_not_there,
    what_ends,
    what_says_nothing,
    what_says_what_it_hears,
    what_speaks_otherwise,
    option_of_another_kind_of_server,
    command_has_no_url,
    web_pages,
    status_of_a_call_is_not_about_the_url,
    errors_say_what_to_do,
    answer_without_a_response_is_named,
    tls_of_a_server_without_it_is_named,
    file_without_certificates_is_suspected,
    who_asks,
    failures_for_programs,
    wrong_command_line_for_programs,
    missing_argument_is_named,
    help_says_what_exit_codes_mean,
    help_says_what_the_timeout_of_a_bridge_limits,
    tip_for_an_unknown_option_is_no_command,
);

/// A run that fails as it should, with no result.
fn fails(ran: &Ran, exit: i32, err: &str) {
    assert_eq!((ran.exit, &*ran.err), (exit, err), "{ran:?}");
}

fn the_command_line() {
    fails(&run(&["tools"]), 2, "mcp: which server? Give a URL, or -- and a command\n");
    let both = run(&["probe", "http://a/", "--", "b"]);
    let err = "mcp: there are two servers, \"http://a/\" and the command behind the dashes: leave one out\n";
    fails(&both, 2, err);
    for words in [&["call"][..], &["record"], &["probe"]] {
        fails(&run(words), 2, "mcp: which server? Give a URL, or -- and a command\n");
    }
    let err = "mcp: which file?
     it comes last: mcp record <URL> <FILE>, or mcp record <FILE> -- <COMMAND>
";
    fails(&run(&["record", "http://a/"]), 2, err);
    fails(&run(&["record", "--", "cat"]), 2, err);
    for words in [
        &["call", "http://a/", "--args", "[]", "t"][..],
        &["call", "http://a/", "--args", "{", "t"],
        &["call", "http://a/", "--args", "{}", "t", "a=1"],
        &["call", "http://a/"],
        &["call", "--", "a"],
        &["probe", "http://a/", "--era", "2025-01-01"],
        &["probe", "http://a/", "--timeout", "0"],
        &["probe", "http://a/", "--timeout", "-1"],
        &["probe", "http://a/", "--header", "x"],
        &["probe", "http://a/", "--header", "Host: x"],
        &["probe", "http://a/", "--bearer-env", "MCP_NO_SUCH_VARIABLE"],
        &["probe", "ftp://a/"],
        &["probe", "cat"],
        &["cook"],
    ] {
        let ran = run(words);
        assert_eq!((ran.exit, &*ran.out), (2, ""), "{words:?}: {ran:?}");
        assert!(!ran.err.is_empty(), "{words:?}");
    }
    let ran = run(&["call", "http://a/", "t", "--log-level", "loud"]);
    assert!(ran.exit == 2 && ran.err.contains("use debug, info, notice, "), "{ran:?}");
}

fn url_with_a_file_of_servers_is_a_usage_error() {
    let folder = Scratch::new("url-and-file");
    let file = folder.write("mcp.json", r#"{"mcpServers":{"b":{"url":"http://127.0.0.1:1/mcp"}}}"#);
    let recording = folder.write("a.mcp", "C> {\"id\":1,\"method\":\"ping\"}\n");
    let err = "mcp: there are two servers, \"https://a/\" and that of --config: leave one out\n";
    for words in [
        &["tools"][..],
        &["login"],
        &["logout"],
        &["bridge"],
        &["bridge", "--listen", "127.0.0.1:0"],
        &["replay", &recording],
    ] {
        for server in [&[][..], &["--server", "b"]] {
            let words = [words, &["https://a/", "--config", &file], server].concat();
            let ran = run(&words);
            fails(&ran, 2, err);
            assert_eq!(ran.out, "", "{words:?}");
        }
    }
}

fn tools_and_arguments() {
    for (words, err) in [
        (
            &["call", "-q", "boil"][..],
            "mcp: the server has no tool \"boil\"\n     its tools: brew, burn, leave, name, sleep, red\n",
        ),
        (
            &["call", "-q", "brew", "cup=1"],
            "mcp: the tool has no argument \"cup\"\n     the tool has cups (required), notes, sugar\n",
        ),
        (&["call", "-q", "brew", "cups=many"], "mcp: cups=many: the tool wants an integer there\n"),
        (
            &["call", "-q", "brew", "2"],
            "mcp: \"2\" is no argument\n     arguments are KEY=VALUE, or JSON behind --args; the tool has cups (required), notes, sugar\n",
        ),
        (
            &["call", "-q", "brew", "cups=1", "cups=2"],
            "mcp: the argument \"cups\" is given twice\n",
        ),
    ] {
        fails(&with_server("both", words), 2, err);
    }
}

/// The reasons are the system's own words.
fn what_is_not_there() {
    let ran = run(&["tools", "--", "does-not-exist"]);
    assert_eq!((ran.exit, &*ran.out), (3, ""));
    assert!(ran.err.starts_with("mcp: cannot start does-not-exist: "), "{}", ran.err);
    let ran = run(&["tools", &format!("http://{}/mcp", nowhere())]);
    assert_eq!((ran.exit, &*ran.out), (3, ""));
    assert!(ran.err.starts_with("mcp: no connection to the server: "), "{}", ran.err);
}

fn what_ends() {
    let err = "\
mcp: the connection has ended before the server was known; the server has exited: exit status: 1
     is this how the server is started? It has to stay, and to serve stdio
";
    let ran = run(&["probe", "--", "false"]);
    fails(&ran, 3, err);
    let out = "\u{20}N ms  server/discover is sent
 N ms  the end of the stream, so the server is started again, and initialize is sent [legacy-by-eof]
 N ms  the end of the stream, so the negotiation fails [eof]
";
    assert_eq!(ran.out, out);
}

const SILENT: &str = "\
mcp: the server has not answered in time
     it may be no MCP server, or need longer: --timeout gives it more time
";

fn what_says_nothing() {
    fails(&with_server("silent", &["tools", "--timeout", "0.1"]), 6, SILENT);
}

/// It is asked what it asks.
fn what_says_what_it_hears() {
    fails(&run(&["tools", "--timeout", "0.1", "--", "cat"]), 6, SILENT);
}

fn what_speaks_otherwise() {
    let err = "\
mcp: the server speaks no version that the client may speak, but 2099-01-01
     mcp knows 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28; --era may have left some of them out
";
    fails(&with_server("versions", &["tools"]), 4, err);
    let err = "\
mcp: the server has refused: not today (-32000)
     --era has the client ask in another way: try legacy or modern
";
    fails(&with_server("refuses", &["tools"]), 4, err);
}

fn option_of_another_kind_of_server() {
    for (option, value) in [("--header", "A: b"), ("--bearer-env", "HOME")] {
        let err = format!(
            "mcp: {option} is for a URL\n     a server that is started here gets its credentials by \
             --env\n"
        );
        fails(&with_server("both", &["tools", option, value]), 2, &err);
    }
    for words in [&["--env", "A=b"][..], &["--inherit-env"], &["--cwd", "."]] {
        let words = [&["tools", "http://127.0.0.1:1/mcp"], words].concat();
        let err = format!("mcp: {} is for a server that is started here\n", words[2]);
        fails(&run(&words), 2, &err);
    }
}

fn command_has_no_url() {
    let err = "mcp: the server's answer cannot be read\n";
    fails(&with_server("hollow", &["tools", "--era", "legacy"]), 4, err);
}

fn web_pages() {
    let advice =
        "     the URL may be that of a web page: an MCP endpoint often has a path such as /mcp\n";
    let err = format!("mcp: the server's answer cannot be read\n{advice}");
    fails(&run(&["tools", &web("200 OK")]), 4, &err);
    for (code, status) in [(404, "404 Not Found"), (501, "501 Unsupported method")] {
        let err = format!("mcp: the server has answered with HTTP status {code}\n{advice}");
        fails(&run(&["tools", &web(status)]), 4, &err);
    }
    let sse = |status| web(status) + "api/sse";
    for status in ["404 Not Found", "405 Method Not Allowed", "500 Oops", "200 OK"] {
        let url = sse(status);
        let advice = format!(
            "     /sse is the usual path of the transport HTTP+SSE, which Streamable HTTP replaced \
             in 2025-03-26: try {}\n",
            url.replace("/sse", "/mcp")
        );
        let ran = run(&["tools", &format!("{url}?key=x")]);
        assert!(ran.err.ends_with(&advice), "{}", ran.err);
    }
    assert_eq!(run(&["tools", &web("503 Service Unavailable")]).exit, 3);
    assert_eq!(run(&["tools", &web("301 Moved Permanently")]).exit, 4);
}

fn status_of_a_call_is_not_about_the_url() {
    for (status, exit, advice) in [
        ("404 Not Found", 4, ""),
        ("400 Bad Request", 4, ""),
        ("500 Oops", 3, "     try again later\n"),
    ] {
        let url = refusing("tools/list", status);
        let code = status.split(' ').next().unwrap();
        let err = format!("mcp: the server has answered with HTTP status {code}\n{advice}");
        fails(&run(&["tools", "--era", "legacy", &url]), exit, &err);
    }
}

fn errors_say_what_to_do() {
    let seconds = "it is a number of seconds, such as 2.5\n";
    for (words, advice) in [
        (&["tools", "http://a/", "--timeout", "1e30"][..], seconds),
        (&["tools", "http://a/", "--timeout", "NaN"], seconds),
        (&["tools", "http://a/", "--timeout=-1"], seconds),
        (&["request", "http://a/", "x", "--params", "[1]"], "it is a JSON object, such as "),
        (
            &["call", "http://a/", "x", "--args", r#"{"a":1,}"#],
            "it is no JSON: key must be a string at line 1 column 8",
        ),
        (&["bridge", "--listen", "localhost:80", "http://a/"], "it is an IP address and a port, "),
    ] {
        let ran = run(words);
        assert!(ran.exit == 2 && ran.err.contains(advice), "{words:?}: {ran:?}");
    }
    let ran = with_server("both", &["request", "-q", "server/discover"]);
    let err = "mcp: \"server/discover\" is a method of the specification\n     requests with other \
               methods can be sent; mcp sends this one by itself, if at all\n";
    fails(&ran, 2, err);
}

fn answer_without_a_response_is_named() {
    let url = refusing("initialize\"", "202 Accepted");
    let err = "mcp: the server's answer with HTTP status 202 has no response\n     the URL may be \
               that of a web page: an MCP endpoint often has a path such as /mcp\n";
    fails(&run(&["tools", "--era", "legacy", &url]), 4, err);
}

fn tls_of_a_server_without_it_is_named() {
    let url = over_http(None).replace("http://", "https://");
    let ran = run(&["tools", &url]);
    let advice = "\n     the server may not speak TLS there: try http:// in the URL\n";
    assert!(ran.exit == 3 && ran.err.ends_with(advice), "{ran:?}");
    let err = "mcp: no connection to the server: the answer of the server is not TLS\n";
    assert!(ran.err.starts_with(err), "{ran:?}");
}

fn file_without_certificates_is_suspected() {
    let folder = Scratch::new("no-certificates");
    let file = folder.write("none.pem", "none\n");
    let url = over_http(None).replace("http://", "https://");
    let ran = run_in(&[("SSL_CERT_FILE", &*file), ("SSL_CERT_DIR", "")], &["tools", &url]);
    let err = "mcp: no certificates of the platform, or of SSL_CERT_FILE and SSL_CERT_DIR in the \
               environment, can be trusted: install `ca-certificates`, or name a PEM file in \
               SSL_CERT_FILE\n";
    assert_eq!((ran.exit, &*ran.err), (3, err), "{ran:?}");
}

fn who_asks() {
    let url = over_http(Some("sesame"));
    let ran = run(&["tools", &url]);
    assert_eq!((ran.exit, &*ran.out), (7, ""));
    let advice = "     run `mcp login` with the URL; or put a token with the scope \"cook\" into the \
                  environment variable MCP_TOKEN, or into another one that --bearer-env names; other credentials are for --header\n";
    assert!(ran.err.ends_with(advice), "{}", ran.err);
    assert_eq!(run_in(&[("MCP_TOKEN", "mellon")], &["tools", &url]).exit, 7);
    assert_eq!(run_in(&[("MCP_TOKEN", "sesame")], &["tools", &url]).exit, 0);
    let named = ["tools", &url, "--bearer-env", "KEY"];
    assert_eq!(run_in(&[("KEY", "sesame"), ("MCP_TOKEN", "mellon")], &named).exit, 0);
    assert_eq!(run(&["tools", &url, "--header", "Authorization: Bearer sesame"]).exit, 0);
}

fn wrong_command_line_for_programs() {
    for (words, message) in [
        (
            &["tools", "--json", "--timeout", "x", "http://a/"][..],
            "invalid value 'x' for '--timeout <SECONDS>': it is a number of seconds, such as 2.5",
        ),
        (&["replay", "--json"], "the following required arguments were not provided: <WORDS>..."),
        (&["tools", "--jsom", "--json"], "unexpected argument '--jsom' found"),
    ] {
        let ran = run(words);
        let error: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let expected = serde_json::json!({
            "error": { "exit": 2, "kind": "usage", "message": message, "advice": null },
        });
        assert_eq!((ran.exit, error), (2, expected), "{words:?}");
        assert!(ran.err.starts_with("error: "), "{ran:?}");
    }
    assert_eq!(run(&["tools", "--timeout", "x", "--", "a", "--json"]).out, "");
    assert!(run(&["tools", "--json", "--help"]).out.starts_with("Lists the tools"));
}

fn missing_argument_is_named() {
    let err = "mcp: the tool needs the argument \"cups\"\n     the tool has cups (required), notes, sugar\n";
    for words in [&["call", "-q", "brew", "sugar=true"][..], &["bench", "-q", "brew"]] {
        fails(&with_server("both", words), 2, err);
    }
    // The server decides about the arguments of `--args`.
    assert_eq!(with_server("both", &["call", "-q", "brew", "--args", "{}"]).exit, 1);
}

fn failures_for_programs() {
    let ran = run(&["tools", "--json", "--", "does-not-exist"]);
    let failure: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.exit, &failure["error"]["exit"]), (3, &serde_json::json!(3)));
    assert_eq!(failure["error"]["kind"], "connection");
    let ran = run(&["probe", "--json", "--", "false"]);
    let story: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.exit, &story["error"]["exit"]), (3, &serde_json::json!(3)));
    assert_eq!(story["decisions"][1]["row"], "eof");
}

fn help_says_what_exit_codes_mean() {
    let ran = run(&["--help"]);
    assert_eq!((ran.exit, &*ran.err), (0, ""));
    for code in [0, 1, 2, 3, 4, 5, 6, 7, 130] {
        assert!(ran.out.contains(&format!("\n{code:>5}  ")), "{code}: {}", ran.out);
    }
}

fn help_says_what_the_timeout_of_a_bridge_limits() {
    let ran = run(&["bridge", "--help"]);
    assert!(ran.out.contains("\n--timeout limits the negotiation with the server."), "{}", ran.out);
}

fn tip_for_an_unknown_option_is_no_command() {
    // What comes behind two dashes would start a server.
    for words in [&["tools", "http://a/", "--headerz", "x"][..], &["call", "a", "-x", "--", "b"]] {
        let ran = run(words);
        assert_eq!((ran.exit, ran.err.contains("as a value")), (2, false), "{ran:?}");
    }
    let ran = run(&["tools", "http://a/", "--headerz", "x"]);
    assert!(ran.err.contains("a similar argument exists: '--header'"), "{ran:?}");
    let ran = run(&["--json", "tools", "http://a/"]);
    assert!(ran.err.contains("'tools --json' exists"), "{ran:?}");
}

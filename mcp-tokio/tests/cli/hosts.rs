//! The files of hosts that the guide shows: the program reads them as their hosts do.

use std::fs;
use std::path::Path;

use super::run::run_in;
use super::scratch::Scratch;
use super::server::SERVER;

crate::all!(server_of_each_file_of_the_guide_is_started);

fn server_of_each_file_of_the_guide_is_started() {
    let folder = Scratch::new("hosts");
    for name in ["claude_desktop_config.json", "cursor.json", "vscode.json"] {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/interop/hosts/files");
        let text = fs::read_to_string(place.join(name)).unwrap();
        assert!(text.contains("/path/to/weather"), "{name}");
        let this = std::env::current_exe().unwrap().to_str().unwrap().replace('\\', "\\\\");
        let file = folder.write(name, &text.replace("/path/to/weather", &this));
        let server = format!("{SERVER}=both");
        let words = ["tools", "--config", &file, "--server", "weather", "--env", &server];
        let ran = run_in(&[("WEATHER_KEY", "0123"), ("WEATHER_TOKEN", "abc")], &words);
        assert!(ran.exit == 0 && ran.out.contains("brew"), "{name}: {ran:?}");
    }
}

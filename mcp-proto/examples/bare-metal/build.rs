//! Links the program for bare metal to where `link.ld` says.

use std::env;

#[expect(clippy::disallowed_methods, reason = "cargo has no other way")]
fn main() {
    println!("cargo:rerun-if-changed=link.ld");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("none") {
        let folder = env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
        println!("cargo:rustc-link-arg-bins=-T{folder}/link.ld");
        println!("cargo:rustc-link-arg-bins=--no-pie");
    }
}

// SPDX-License-Identifier: MIT
// TAPIR_LIB_DIR: where libtapir is, unless the linker finds it; TAPIR_STATIC: libtapir.a of it.
fn main() {
    for name in ["TAPIR_LIB_DIR", "TAPIR_STATIC"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    if let Ok(dir) = std::env::var("TAPIR_LIB_DIR") {
        println!("cargo:rustc-link-search=native={dir}");
    }
    if std::env::var_os("TAPIR_STATIC").is_some() {
        println!("cargo:rustc-link-lib=static=tapir");
        println!("cargo:rustc-link-lib=m");
    } else {
        println!("cargo:rustc-link-lib=tapir");
    }
}

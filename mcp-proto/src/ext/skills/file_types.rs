//! Media types of the files of skills, by the ends of their names.

/// Ends of names, and the media types of such files.
const TYPES: &[(&str, &str)] = &[
    (".md", "text/markdown"),
    (".txt", "text/plain"),
    (".csv", "text/csv"),
    (".html", "text/html"),
    (".css", "text/css"),
    (".js", "text/javascript"),
    (".json", "application/json"),
    (".yaml", "application/yaml"),
    (".yml", "application/yaml"),
    (".xml", "application/xml"),
    (".py", "text/x-python"),
    (".sh", "application/x-sh"),
    (".pdf", "application/pdf"),
    (".svg", "image/svg+xml"),
    (".png", "image/png"),
    (".jpg", "image/jpeg"),
    (".jpeg", "image/jpeg"),
    (".gif", "image/gif"),
    (".webp", "image/webp"),
];

/// The media type of a file. If its name has no known end, it is plain text if it is UTF-8.
pub(super) fn mime_type(name: &str, bytes: &[u8]) -> &'static str {
    let known = TYPES.iter().find(|(end, _)| name.ends_with(end)).map(|(_, mime_type)| *mime_type);
    let other = || match core::str::from_utf8(bytes) {
        Ok(_) => "text/plain",
        Err(_) => "application/octet-stream",
    };
    known.unwrap_or_else(other)
}

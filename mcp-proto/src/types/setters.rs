//! Setters that several types have.

/// Implements the setters of `title` and `description`.
macro_rules! described {
    ($($name:ident)*) => {
        $(impl $name {
            /// Sets the name for display.
            pub fn title(mut self, title: impl Into<alloc::string::String>) -> Self {
                self.title = Some(title.into());
                self
            }

            /// Sets the description.
            pub fn description(mut self, description: impl Into<alloc::string::String>) -> Self {
                self.description = Some(description.into());
                self
            }
        })*
    };
}

/// Implements the setter that adds to `icons`.
macro_rules! with_icons {
    ($($name:ident)*) => {
        $(impl $name {
            /// Adds an icon.
            pub fn icon(mut self, icon: super::Icon) -> Self {
                self.icons.push(icon);
                self
            }
        })*
    };
}

/// Implements the setter of `annotations`.
macro_rules! annotated {
    ($($name:ident)*) => {
        $(impl $name {
            /// Sets the hints for the client.
            pub fn annotations(mut self, annotations: super::Annotations) -> Self {
                self.annotations = Some(annotations);
                self
            }
        })*
    };
}

pub(super) use {annotated, described, with_icons};

//! The macro that defines settings.

/// Defines structs of settings. Each setting has a description, a type, a default and a parser, in one entry:
///
/// ```text
/// settings! {
///     /// Streams of changes.
///     Events["events."] {
///         /// Time between two heartbeats of a stream.
///         heartbeat: Duration = 15 * SECOND, parse::duration(SECOND, HOUR);
///     }
/// }
/// ```
///
/// The text in brackets is the prefix of the settings' paths. Paths, environment variables, `--print-config`, the
/// reference page and the suggestions for unknown names are derived from the entries. A default may use the values of
/// the settings above it. After the settings, `sections` may list the structs of the sections within this one.
macro_rules! settings {
    ($(
        $(#[doc = $about:literal])+
        $name:ident[$prefix:literal] {
            $( $(#[doc = $description:literal])+ $setting:ident: $type:ty = $default:expr, $parse:expr; )*
        }
        $( sections { $( $section:ident: $section_type:ty; )* } )?
    )+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub(crate) struct $name {
            $( $(#[doc = $description])+ pub(crate) $setting: $type, )*
            $($( #[doc = concat!("The section `[", $prefix, stringify!($section), "]`.")] pub(crate) $section: $section_type, )*)?
        }

        impl $name {
            /// Reads the settings that are written, and uses the defaults of the others.
            pub(in crate::config) fn read(reader: &mut $crate::config::reader::Reader<'_>) -> Self {
                $(
                    let path = concat!($prefix, stringify!($setting));
                    let description = concat!($($description),+);
                    let $setting: $type = reader.read(path, description, $parse, $default);
                )*
                Self { $($setting,)* $($($section: <$section_type>::read(reader),)*)? }
            }
        }
    )+};
}

pub(super) use settings;

//! Helpers for serialization: enums whose variants have names, and omission of defaults.

/// Defines a public enum, its list of variants, and the conversions to and from their names.
macro_rules! named_enum {
    (
        $(#[$meta:meta])*
        $type:ident { $($(#[$variant_meta:meta])* $variant:ident = $name:literal,)+ }
        $(also { $($(#[$other_meta:meta])* $other:ident = $other_name:literal,)+ })?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $type {
            $($(#[$variant_meta])* $variant,)+
            $($($(#[$other_meta])* $other,)+)?
        }

        impl $type {
            /// All variants, in the order in which the documentation lists them.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// Returns the name in schema documents.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                    $($(Self::$other => $other_name,)+)?
                }
            }

            /// Returns the variant with that name.
            pub fn parse(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|variant| variant.name() == name)
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }
    };
}

pub(crate) use named_enum;

/// Returns whether a property has its default value and is therefore not printed.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

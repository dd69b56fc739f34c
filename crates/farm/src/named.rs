//! Enums whose variants have names.

/// Declares an enum whose variants have names in messages, ledgers and metrics.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$of:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$of])* $variant,)+ }

        impl $name {
            /// All variants, in their order.
            pub const ALL: [$name; [$($text),+].len()] = [$($name::$variant),+];

            /// Its name in messages, ledgers and metrics.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)+ }
            }

            /// The variant that has this name.
            pub fn named(name: &str) -> Option<$name> {
                $name::ALL.into_iter().find(|one| one.name() == name)
            }
        }
    };
}

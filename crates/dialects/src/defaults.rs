//! Structs with default values of single fields.

/// Defines a struct and its `Default`: a field without a value has the default of its type.
macro_rules! with_defaults {
    ($(#[$meta:meta])* $vis:vis struct $name:ident {
        $($(#[$field_meta:meta])* $field_vis:vis $field:ident: $type:ty $(= $value:expr)?,)*
    }) => {
        $(#[$meta])*
        $vis struct $name {
            $($(#[$field_meta])* $field_vis $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: with_defaults!(@value $($value)?),)* }
            }
        }
    };
    (@value) => { Default::default() };
    (@value $value:expr) => { $value };
}

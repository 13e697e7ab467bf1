//! Which instruction set the scans use: found once, at run time.
//!
//! A [`Level`] can only be had by asking the CPU, so it is as good as the token inside it. Tests walk over
//! [`Level::available`]; a user pins one by name to find out whether an instruction set is to blame.

use std::fmt;

#[cfg(target_arch = "x86_64")]
use super::{avx2::Avx2, avx512::Avx512, sse2::Sse2};
use super::{
    portable::Portable,
    vector::{Kernel, Vector},
};

/// An instruction set this CPU has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(Token);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    #[cfg(target_arch = "x86_64")]
    Sse2(Sse2),
    Portable(Portable),
}

impl Level {
    /// All names, best level first.
    pub const NAMES: [&'static str; 4] = ["avx512", "avx2", "sse2", "portable"];

    /// The best level of this CPU.
    pub fn detect() -> Level {
        Level::available()[0]
    }

    /// Every level of this CPU, best first; the portable one is always the last.
    pub fn available() -> Vec<Level> {
        Level::NAMES.iter().filter_map(|name| Level::from_name(name).ok()).collect()
    }

    /// The level of that name (one of [`Level::NAMES`]).
    ///
    /// # Errors
    /// The name is unknown, or this CPU lacks the level.
    pub fn from_name(name: &str) -> Result<Level, LevelError> {
        let token = match name {
            #[cfg(target_arch = "x86_64")]
            "avx512" => Avx512::detect().map(Token::Avx512),
            #[cfg(target_arch = "x86_64")]
            "avx2" => Avx2::detect().map(Token::Avx2),
            #[cfg(target_arch = "x86_64")]
            "sse2" => Sse2::detect().map(Token::Sse2),
            "portable" => Some(Token::Portable(Portable)),
            name if Level::NAMES.contains(&name) => None,
            _ => return Err(LevelError::Unknown { name: name.to_owned() }),
        };
        token.map(Level).ok_or_else(|| LevelError::Lacking { name: name.to_owned() })
    }

    /// The level's name.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Token::Avx512(_) => "avx512",
            #[cfg(target_arch = "x86_64")]
            Token::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Token::Sse2(_) => "sse2",
            Token::Portable(_) => "portable",
        }
    }

    /// Runs a kernel at this level.
    pub(super) fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Token::Avx512(vector) => vector.run(kernel),
            #[cfg(target_arch = "x86_64")]
            Token::Avx2(vector) => vector.run(kernel),
            #[cfg(target_arch = "x86_64")]
            Token::Sse2(vector) => vector.run(kernel),
            Token::Portable(vector) => vector.run(kernel),
        }
    }
}

/// Why a level cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LevelError {
    /// No level has that name.
    Unknown {
        /// The name asked for.
        name: String,
    },
    /// The level exists, but this CPU (or this architecture) lacks its instructions.
    Lacking {
        /// The level's name.
        name: String,
    },
}

impl fmt::Display for LevelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LevelError::Unknown { name } => {
                write!(f, "unknown instruction set \"{name}\", valid names are {}", Level::NAMES.join(", "))
            }
            LevelError::Lacking { name } => {
                write!(f, "this CPU lacks the instruction set \"{name}\"")
            }
        }
    }
}

impl std::error::Error for LevelError {}

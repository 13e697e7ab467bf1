//! What an operator means, from its oid.
//!
//! Only PostgreSQL's own operators are known: those of the default btree families of the types in [`operand`], whose
//! strategy numbers say which comparison they are, their negators, and LIKE by its oids. None of them raises an error
//! when it is applied.

use fastcsv_engine::filter::{Characters, Class, Comparison};
use pgrx::pg_sys;

use crate::pg_compat;

/// An operator that a filter can apply.
#[derive(Clone, Copy)]
pub(super) enum Operator {
    /// A comparison of values of these classes.
    Compare { left: Class, comparison: Comparison, right: Class },
    /// LIKE or NOT LIKE of a text that is read as this class, with a pattern in these characters.
    Like { class: Class, characters: Characters, negated: bool },
}

// Families that the bindings have no name for.
const CHAR_BTREE_FAMILY: pg_sys::Oid = pg_sys::Oid::from_u32(429);
const DATETIME_BTREE_FAMILY: pg_sys::Oid = pg_sys::Oid::from_u32(434);
const ENUM_BTREE_FAMILY: pg_sys::Oid = pg_sys::Oid::from_u32(3522);
const FLOAT_BTREE_FAMILY: pg_sys::Oid = pg_sys::Oid::from_u32(1970);
const NUMERIC_BTREE_FAMILY: pg_sys::Oid = pg_sys::Oid::from_u32(1988);
const TIME_BTREE_FAMILY: pg_sys::Oid = pg_sys::Oid::from_u32(1996);
const UUID_BTREE_FAMILY: pg_sys::Oid = pg_sys::Oid::from_u32(2968);

/// How operators read an operand of a type, and the btree family that their comparisons are in.
fn operand(type_oid: pg_sys::Oid) -> Option<(Class, pg_sys::Oid)> {
    Some(match type_oid {
        pg_sys::BOOLOID => (Class::Bool, pg_sys::BOOL_BTREE_FAM_OID),
        pg_sys::CHAROID => (Class::Char, CHAR_BTREE_FAMILY),
        pg_sys::INT2OID => (Class::Int2, pg_sys::INTEGER_BTREE_FAM_OID),
        pg_sys::INT4OID => (Class::Int4, pg_sys::INTEGER_BTREE_FAM_OID),
        pg_sys::INT8OID => (Class::Int8, pg_sys::INTEGER_BTREE_FAM_OID),
        pg_sys::OIDOID => (Class::Oid, pg_sys::OID_BTREE_FAM_OID),
        pg_sys::FLOAT4OID => (Class::Float4, FLOAT_BTREE_FAMILY),
        pg_sys::FLOAT8OID => (Class::Float8, FLOAT_BTREE_FAMILY),
        pg_sys::NUMERICOID => (Class::Numeric, NUMERIC_BTREE_FAMILY),
        pg_sys::DATEOID => (Class::Int4, DATETIME_BTREE_FAMILY),
        pg_sys::TIMESTAMPOID | pg_sys::TIMESTAMPTZOID => (Class::Int8, DATETIME_BTREE_FAMILY),
        pg_sys::TIMEOID => (Class::Int8, TIME_BTREE_FAMILY),
        pg_sys::INTERVALOID => (Class::Interval, pg_sys::INTERVAL_BTREE_FAM_OID),
        pg_sys::TEXTOID => (Class::Bytes, pg_sys::TEXT_BTREE_FAM_OID),
        pg_sys::NAMEOID => (Class::Name, pg_sys::TEXT_BTREE_FAM_OID),
        pg_sys::BPCHAROID => (Class::Bpchar, pg_sys::BPCHAR_BTREE_FAM_OID),
        pg_sys::BYTEAOID => (Class::Bytes, pg_sys::BYTEA_BTREE_FAM_OID),
        pg_sys::UUIDOID => (Class::Uuid, UUID_BTREE_FAMILY),
        pg_sys::ANYENUMOID => (Class::Oid, ENUM_BTREE_FAMILY),
        _ => return None,
    })
}

/// The operator's meaning under the collation it is applied with, or `None` where a filter cannot know.
///
/// # Safety
/// Must be called in a transaction; `oid` must be an operator's.
pub(super) unsafe fn meaning(oid: pg_sys::Oid, collation: pg_sys::Oid) -> Option<Operator> {
    if oid.to_u32() >= pg_sys::FirstUnpinnedObjectId {
        return None; // not one of PostgreSQL's own
    }
    // SAFETY: the caller's promise.
    unsafe { like(oid, collation).or_else(|| comparison(oid, collation)) }
}

/// # Safety
/// As for [`meaning`].
unsafe fn comparison(oid: pg_sys::Oid, collation: pg_sys::Oid) -> Option<Operator> {
    let (mut left, mut right) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
    // SAFETY: the caller's promise; these read the catalog caches.
    unsafe {
        pg_sys::op_input_types(oid, &mut left, &mut right);
        let ((left_class, family), (right_class, right_family)) = (operand(left)?, operand(right)?);
        // A date beside a timestamp needs more than a comparison of numbers, and with time zone more than the values.
        let comparable = family == right_family && (left == right || family != DATETIME_BTREE_FAMILY);
        let comparison = comparison_in(oid, family)?;
        let equality = matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        let decidable = match family {
            pg_sys::TEXT_BTREE_FAM_OID | pg_sys::BPCHAR_BTREE_FAM_OID if equality => is_deterministic(collation),
            pg_sys::TEXT_BTREE_FAM_OID | pg_sys::BPCHAR_BTREE_FAM_OID => pg_compat::collates_by_bytes(collation),
            ENUM_BTREE_FAMILY => equality, // labels are not in the order of their oids
            _ => true,
        };
        (comparable && decidable).then_some(Operator::Compare { left: left_class, comparison, right: right_class })
    }
}

/// The comparison that an operator is in a btree family, where `<>` is there as the negator of `=` only.
///
/// # Safety
/// As for [`meaning`].
unsafe fn comparison_in(oid: pg_sys::Oid, family: pg_sys::Oid) -> Option<Comparison> {
    // SAFETY: the caller's promise; these read the catalog caches.
    unsafe {
        let strategy = |oid| pg_sys::get_op_opfamily_strategy(oid, family).cast_unsigned();
        match strategy(oid) {
            pg_sys::BTLessStrategyNumber => Some(Comparison::Less),
            pg_sys::BTLessEqualStrategyNumber => Some(Comparison::LessEqual),
            pg_sys::BTEqualStrategyNumber => Some(Comparison::Equal),
            pg_sys::BTGreaterEqualStrategyNumber => Some(Comparison::GreaterEqual),
            pg_sys::BTGreaterStrategyNumber => Some(Comparison::Greater),
            _ => {
                let negator = pg_sys::get_negator(oid);
                let equality = negator != pg_sys::InvalidOid && strategy(negator) == pg_sys::BTEqualStrategyNumber;
                equality.then_some(Comparison::NotEqual)
            }
        }
    }
}

/// # Safety
/// As for [`meaning`].
unsafe fn like(oid: pg_sys::Oid, collation: pg_sys::Oid) -> Option<Operator> {
    // SAFETY: the caller's promise.
    unsafe {
        let negator = pg_sys::get_negator(oid);
        let (class, negated) = match (like_class(oid), like_class(negator)) {
            (Some(class), _) => (class, false),
            (None, Some(class)) => (class, true),
            (None, None) => return None,
        };
        let is_bytea = [oid, negator].iter().any(|oid| oid.to_u32() == pg_sys::OID_BYTEA_LIKE_OP);
        let characters = if is_bytea { Characters::SingleByte } else { server_characters()? };
        (is_bytea || is_deterministic(collation)).then_some(Operator::Like { class, characters, negated })
    }
}

/// How LIKE reads what it matches. Unlike a comparison, it sees the trailing blanks of a `char(n)`.
fn like_class(oid: pg_sys::Oid) -> Option<Class> {
    match oid.to_u32() {
        pg_sys::OID_TEXT_LIKE_OP | pg_sys::OID_BPCHAR_LIKE_OP | pg_sys::OID_BYTEA_LIKE_OP => Some(Class::Bytes),
        pg_sys::OID_NAME_LIKE_OP => Some(Class::Name),
        _ => None,
    }
}

/// The characters of the server's encoding, if patterns can be matched in it.
pub(super) fn server_characters() -> Option<Characters> {
    // SAFETY: both read a setting.
    let (encoding, longest) = unsafe { (pg_sys::GetDatabaseEncoding(), pg_sys::pg_database_encoding_max_length()) };
    if longest == 1 {
        Some(Characters::SingleByte)
    } else {
        (encoding == pg_sys::pg_enc::PG_UTF8.cast_signed()).then_some(Characters::Utf8)
    }
}

/// Are texts equal under the collation only if their bytes are? Without a collation, PostgreSQL refuses to compare.
///
/// # Safety
/// As for [`meaning`].
pub(super) unsafe fn is_deterministic(collation: pg_sys::Oid) -> bool {
    // SAFETY: the caller's promise; the collation exists.
    collation != pg_sys::InvalidOid && unsafe { pg_sys::get_collation_isdeterministic(collation) }
}

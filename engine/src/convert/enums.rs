//! Enums: the oid of a label.

/// The oid of the label that `field` is exactly; `labels` are in byte order.
#[inline]
pub(super) fn oid(field: &[u8], labels: &[(Vec<u8>, u32)]) -> Option<u32> {
    let index = labels.binary_search_by(|(label, _)| label.as_slice().cmp(field)).ok()?;
    Some(labels[index].1)
}

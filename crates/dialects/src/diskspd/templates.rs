//! Replaces the template targets `*1`, `*2`, … of an XML profile with targets of the command line.

use super::profile::Profile;

/// Replaces the path `*k` with target k of the command line. Without targets, the templates remain.
///
/// # Errors
/// Returns DiskSpd's error lines.
pub(super) fn substitute(profile: &mut Profile, paths: &[&str]) -> Result<(), Vec<String>> {
    let mut used = vec![false; paths.len()];
    let spans = profile.time_spans.iter_mut();
    for target in spans.flat_map(|span| &mut span.targets) {
        if !target.path.starts_with('*') {
            continue;
        }
        let Some(number) = target.slot() else {
            return Err(vec![format!(
                "ERROR: template path '{}' is not a valid path reference - must be *<integer> - check profile",
                target.path
            )]);
        };
        if paths.is_empty() {
            continue;
        }
        let index = number as usize - 1;
        let Some(path) = paths.get(index) else {
            return Err(vec![format!(
                "ERROR: template path '{}' does not have a specified substitution - check profile",
                target.path
            )]);
        };
        target.path = (*path).to_string();
        used[index] = true;
    }
    let unused = paths.iter().zip(&used).enumerate().filter(|(_, (_, used))| !**used);
    let lines: Vec<String> = unused
        .map(|(index, (path, _))| {
            format!(
                "ERROR: unused template target substitution _{} -> {path} - check profile",
                index + 1
            )
        })
        .collect();
    if lines.is_empty() { Ok(()) } else { Err(lines) }
}

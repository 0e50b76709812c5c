//! Slots of a template: targets `*1`, `*2`, … of an XML profile, which targets of the command line
//! take the places of.

use super::profile::Profile;

/// Puts target k of the command line where the profile has slot `*k`. Without targets the slots
/// stay.
///
/// # Errors
/// The lines that DiskSpd says about it.
pub(super) fn substitute(profile: &mut Profile, paths: &[&str]) -> Result<(), Vec<String>> {
    let mut used = vec![false; paths.len()];
    let spans = profile.time_spans.iter_mut();
    for target in spans.flat_map(|span| &mut span.targets) {
        if !target.path.starts_with('*') {
            continue;
        }
        let Some(slot) = target.slot() else {
            return Err(vec![format!(
                "ERROR: template path '{}' is not a valid path reference - must be *<integer> - check profile",
                target.path
            )]);
        };
        if paths.is_empty() {
            continue;
        }
        let index = slot as usize - 1;
        let Some(path) = paths.get(index) else {
            return Err(vec![format!(
                "ERROR: template path '{}' does not have a specified substitution - check profile",
                target.path
            )]);
        };
        target.path = (*path).to_string();
        used[index] = true;
    }
    let idle = paths.iter().zip(&used).enumerate().filter(|(_, (_, used))| !**used);
    let lines: Vec<String> = idle
        .map(|(index, (path, _))| {
            format!(
                "ERROR: unused template target substitution _{} -> {path} - check profile",
                index + 1
            )
        })
        .collect();
    if lines.is_empty() { Ok(()) } else { Err(lines) }
}

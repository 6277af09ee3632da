// The field that a key is typed into, if any: one of a dialog just closed may keep the focus.
export function fieldOf(target) {
  const field = target.closest("input:not([type=checkbox]), select, textarea");
  return field?.closest("dialog:not([open])") ? null : field;
}

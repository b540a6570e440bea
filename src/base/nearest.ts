/**
 * "Did you mean": the known name nearest to what was typed.
 */

/** Levenshtein distance: insertions, deletions and substitutions from `a` to `b`. */
export function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const current = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const substituted = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(substituted, (previous[j] as number) + 1, (current[j - 1] as number) + 1));
    }
    previous = current;
  }
  return previous[b.length] as number;
}

/** The known name nearest to `typed`, or null when none is near enough to be meant. */
export function nearestName(typed: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.ceil(typed.length / 3)) + 1;
  for (const name of known) {
    const distance = name.startsWith(typed) && typed.length >= 2 ? 1 : editDistance(typed, name);
    if (distance < bestDistance) {
      best = name;
      bestDistance = distance;
    }
  }
  return best;
}

/** `expected one of a, b, got "c" (did you mean a?)`. */
export function unknownNameMessage(what: string, typed: string, known: readonly string[]): string {
  const nearest = nearestName(typed, known);
  const hint = nearest === null ? '' : ` (did you mean ${nearest}?)`;
  return `unknown ${what} "${typed}"${hint}: expected one of ${known.join(', ')}`;
}
